import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { entries, type Report, shown, windowsOf } from '../report.ts';
import type { Case } from '../types.ts';
import { best } from '../windows.ts';
import { barsOf } from './bars.ts';
import { advantage, standing } from './compared.ts';
import { escaped, folded, prose, table } from './html.ts';
import { lineOf } from './lines.ts';

const css = readFileSync(join(import.meta.dirname, 'page.css'), 'utf8');

const idOf = (group: string) => `g-${group.replaceAll(/\W+/g, '-')}`;

/** The names of the groups: those with a peer first, else in the order of the run. */
function groupsOf({ cases }: Report): string[] {
  const first = cases.filter((benchCase) => standing(benchCase) !== null);
  return [...new Set([...first, ...cases].map(({ group = '' }) => group))];
}

/** Tock's figures with a peer's beside them, the worst first. */
function ranked({ cases }: Report, how: string): string[][] {
  return cases
    .filter((benchCase) => standing(benchCase) === how)
    .sort((a, b) => (advantage(a) ?? 0) - (advantage(b) ?? 0))
    .map((benchCase) => {
      const figures = best.flatMap((name) =>
        benchCase.peers[name] == null ? [] : [[name, benchCase.peers[name]] as const],
      );
      const peers = figures.map(([name, value]) => `${name} ${shown(value)}`).join(', ');
      return [
        benchCase.name,
        `${shown(advantage(benchCase))} ×`,
        shown(benchCase.tock),
        benchCase.unit,
        peers,
      ];
    });
}

const head = ['case', 'as good', 'tock', 'unit', 'the three'];

function summary(report: Report): string {
  const all = {
    worse: ranked(report, 'worse'),
    even: ranked(report, 'even'),
    better: ranked(report, 'better'),
  };
  const compared = all.worse.length + all.even.length + all.better.length;
  if (compared === 0)
    return '<p>No peer was measured in this run: compare each figure with its floor.</p>';
  const listed = (caption: string, rows: string[][]) =>
    rows.length === 0 ? '' : `<div class="ranked">${table(caption, head, rows)}</div>`;
  return `<p>Of ${compared} figures with a peer beside them, Tock is worse than the best of ${escaped(best.join(', '))} in ${all.worse.length},
better in ${all.better.length}, and within a twentieth in ${all.even.length}. “As good” is how many times as good Tock is as that best one,
whichever way the unit counts: below 1 it is slower, or costs more. What a system leaves out beside Tock is under <a href="#how">how it was measured</a>.</p>
${listed('Where Tock is worse, the worst first', all.worse)}
${listed('Where there is no difference to speak of', all.even)}
${listed('Where Tock is better', all.better)}`;
}

function section(report: Report, group: string): string {
  const cases = report.cases.filter((benchCase) => (benchCase.group ?? '') === group);
  const lines = cases.flatMap((benchCase) => lineOf(benchCase) ?? []);
  const two = lines.length > 0 ? `<div class="two">${lines.join('\n')}</div>` : '';
  return `<section aria-labelledby="${idOf(group)}"><h2 id="${idOf(group)}">${escaped(group)} <small>${report.seconds[group] ?? '-'} s</small></h2>
${two}${barsOf(cases, `${group}: `)}</section>`;
}

/** All figures of the run's JSON in one table. */
function allOf(cases: Case[], peers: string[]): string {
  const rows = cases.map((benchCase) => [
    benchCase.name,
    benchCase.unit,
    shown(benchCase.tock),
    shown(benchCase.floor),
    ...peers.map((name) => shown(benchCase.peers[name])),
  ]);
  return folded(
    'Every figure in one table',
    table('Every figure', ['case', 'unit', 'tock', 'floor', ...peers], rows),
  );
}

function how({ command, machine, versions, settings, ...report }: Report): string {
  const systems = Object.entries(settings.systems).map(([name, system]) => {
    const lacks =
      system.lacks.length > 0 ? [`beside Tock it lacks: ${system.lacks.join('; ')}`] : [];
    const items = [...system.settings, ...lacks].map((text) => `<li>${prose(text)}</li>`).join('');
    return `<li><strong>${escaped(name)}</strong> (${escaped(system.version)})<ul>${items}</ul></li>`;
  });
  const left =
    report.left_out.length > 0 ? [`<li>Left out: ${escaped(report.left_out.join(', '))}</li>`] : [];
  const failed = report.failures.map((text) => `<li>${escaped(text)}</li>`).join('');
  return `<section aria-labelledby="how"><h2 id="how">How it was measured</h2><ul>
<li>PostgreSQL: ${escaped(entries(settings.postgres))}</li>
<li>Versions: ${escaped(entries(versions))}</li>
<li>Windows: ${escaped(windowsOf({ command, machine, versions, settings, ...report }))}</li>
${left.join('')}${systems.join('\n')}</ul>${failed ? `<h3>Failed</h3><ul>${failed}</ul>` : ''}</section>`;
}

/** The run as one HTML page, which sends no network requests. */
export function page(report: Report): string {
  const groups = groupsOf(report);
  const peers = [...new Set(report.cases.flatMap((benchCase) => Object.keys(benchCase.peers)))];
  const day = report.date.slice(0, 10);
  const links = groups.map((group) => `<a href="#${idOf(group)}">${escaped(group)}</a>`).join('');
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tock beside its peers, ${day}</title><link rel="icon" href="data:,"><style>${css}</style></head>
<body><header><h1>Tock beside its peers, ${day}</h1>
<p><code>${escaped(report.command)}</code> on ${escaped(entries(report.machine))}; PostgreSQL ${escaped(report.versions.postgres ?? '-')}, Tock ${escaped(report.versions.tock ?? '-')}.
Only ratios within one run mean something: machines differ, and so do hours.</p>
<nav aria-label="Groups">${links}<a href="#how">how it was measured</a></nav></header>
<main><section aria-labelledby="short"><h2 id="short">In short</h2>${summary(report)}
<p class="note">A bar is the median; the fine line in it goes from the least window to the most, where a figure has several. The floor is what PostgreSQL takes for
the least that could be done at the same call size.</p></section>
${groups.map((group) => section(report, group)).join('\n')}
<section aria-labelledby="all"><h2 id="all">All</h2>${allOf(report.cases, peers)}</section>
${how(report)}</main></body></html>
`;
}
