import { toBest } from './page/compared.ts';
import { entries, type Report, shown, windowsOf } from './report.ts';
import type { Case } from './types.ts';
import { best } from './windows.ts';

const short: Record<string, string> = {
  'graphile-worker': 'graphile',
  'per-user tables': 'per-user',
};

const line = (cells: string[]) =>
  `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

function tableOf(cases: Case[], prefix: string): string[] {
  const peers = [...new Set(cases.flatMap((one) => Object.keys(one.peers)))].filter((name) =>
    cases.some((one) => (one.peers[name] ?? null) !== null),
  );
  const compared = cases.some((one) => toBest(one) !== null);
  const head = ['', 'unit', 'tock', 'floor', ...peers.map((name) => short[name] ?? name)];
  const rows = cases.map((one) => [
    one.name.startsWith(prefix) ? one.name.slice(prefix.length) : one.name,
    one.unit,
    one.tock === null ? '-' : `**${shown(one.tock)}**`,
    shown(one.floor),
    ...peers.map((name) => shown(one.peers[name])),
    ...(compared ? [shown(toBest(one))] : []),
    one.note,
  ]);
  const heads = [...head, ...(compared ? ['to the best of three'] : []), 'note'];
  const rule = heads.map((_, n) => (n < 2 || n === heads.length - 1 ? '---' : '---:'));
  return [line(heads), line(rule), ...rows.map(line)];
}

/** The page to a run's figures; `chart` is the name of the file beside it. */
export function markdown(report: Report, chart: string | null): string {
  const { settings, cases, seconds, failures } = report;
  const groups = [...new Set(cases.map(({ group = '' }) => group))];
  const tables = groups.flatMap((group) => [
    `## ${group}`,
    '',
    ...tableOf(
      cases.filter((one) => one.group === group),
      `${group}: `,
    ),
    '',
    `${seconds[group]} s.`,
    '',
  ]);
  const systems = Object.entries(settings.systems).flatMap(([name, { version, ...one }]) => [
    `- **${name}** (${version})`,
    ...one.settings.map((text) => `  - ${text}`),
    ...(one.lacks.length > 0 ? [`  - beside Tock it lacks: ${one.lacks.join('; ')}`] : []),
  ]);
  const left = report.left_out.length > 0 ? [`- Left out: ${report.left_out.join(', ')}`] : [];
  return [
    `# Tock beside its peers, ${report.date.slice(0, 10)}`,
    '',
    'Made by bench/markdown.ts from the JSON beside it; [how to read it](../README.md).',
    `The best of three is that of ${best.join(', ')}: of rates and ratios the highest, of costs the lowest.`,
    '',
    ...(chart ? [`![The main cases](${chart})`, ''] : []),
    ...tables,
    '## How',
    '',
    `- \`${report.command}\``,
    `- Machine: ${entries(report.machine)}`,
    `- Versions: ${entries(report.versions)}`,
    `- PostgreSQL: ${entries(settings.postgres)}`,
    `- Windows: ${windowsOf(report)}`,
    ...left,
    ...systems,
    ...(failures.length > 0 ? ['', '## Failed', '', ...failures.map((text) => `- ${text}`)] : []),
    '',
  ].join('\n');
}
