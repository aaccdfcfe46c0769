import { shown } from '../report.ts';
import type { Case } from '../types.ts';
import { type Standing, standing, toBest } from './compared.ts';
import { escaped, prose } from './html.ts';

type Bar = {
  name: string;
  kind: 'tock' | 'peer' | 'floor';
  value: number | null;
  spread?: number[];
};

const unmeasured = { kind: 'peer', value: null } as const;

/** The minimum and maximum of a figure's windows. Null if the windows are not repetitions, but samples over time. */
function spreadOf(
  { windows = {} }: Case,
  name: string,
  value: number | null,
): number[] | undefined {
  const seen = windows[name] ?? [];
  const [least, most] = [Math.min(...seen), Math.max(...seen)];
  const fits = value !== null && seen.length > 1 && seen.length < 10;
  return fits && least <= value && value <= most ? [least, most] : undefined;
}

function rowOf({ name, kind, value, spread }: Bar, most: number): string {
  const part = (amount: number) => `${((100 * amount) / most).toFixed(1)}%`;
  const bar = value === null ? '' : `<i style="width:${part(value)}"></i>`;
  const [low = 0, high = 0] = spread ?? [];
  const range = spread
    ? `<b style="left:${part(low)};width:${part(high - low)}" title="${shown(low)} to ${shown(high)}"></b>`
    : '';
  return `<tr class="${kind}"><th scope="row">${escaped(name)}</th><td class="bar" aria-hidden="true"><span>${bar}${range}</span></td><td>${shown(value)}</td></tr>`;
}

function card(title: string, unit: string, bars: Bar[], badge: string, notes: string[]): string {
  const most = Math.max(
    ...bars.flatMap(({ value, spread }) => [value ?? 0, ...(spread ?? [])]),
    1e-9,
  );
  const note = notes.map((text) => `<p class="note">${prose(text)}</p>`).join('');
  return `<article class="card"><h3>${escaped(title)} <small>${escaped(unit)}</small></h3>${badge}
<table class="bars"><caption class="unseen">${escaped(`${title}, ${unit}`)}</caption><tbody>
${bars.map((bar) => rowOf(bar, most)).join('\n')}
</tbody></table>${note}</article>`;
}

const words: Record<Standing, string> = {
  better: 'better than the best of three',
  even: 'as the best of three',
  worse: 'worse than the best of three',
};

/** Compares Tock's figure with the best peer's, in words as well as in colour. */
function badgeOf(benchCase: Case): string {
  const part = toBest(benchCase);
  if (part === null) return '';
  const how = standing(benchCase) as Standing;
  return `<p class="badge ${how}">${shown(part)} times: ${words[how]}</p>`;
}

const peersIn = ({ peers }: Case) => Object.entries(peers).filter(([, value]) => value !== null);

/** A case of several systems: one bar each. */
function compared(benchCase: Case): string {
  const of = (name: string, kind: Bar['kind'], value: number | null) => ({
    name,
    kind,
    value,
    spread: spreadOf(benchCase, name, value),
  });
  const bars: Bar[] = [
    of('tock', 'tock', benchCase.tock),
    ...Object.entries(benchCase.peers).map(([name, value]) =>
      value === null ? { name, ...unmeasured } : of(name, 'peer', value),
    ),
    ...(benchCase.floor === null ? [] : [of('floor', 'floor', benchCase.floor)]),
  ];
  return card(
    benchCase.name,
    benchCase.unit,
    bars,
    badgeOf(benchCase),
    benchCase.note ? [benchCase.note] : [],
  );
}

/** Cases of Tock alone with the same unit and floor: one bar each. */
function alone(cases: Case[], prefix: string): string {
  const [{ unit, floor } = { unit: '', floor: null }] = cases;
  const single = cases.length === 1;
  const named = ({ name }: Case) => (name.startsWith(prefix) ? name.slice(prefix.length) : name);
  const bars: Bar[] = cases.map((benchCase) => ({
    name: single ? 'tock' : named(benchCase),
    kind: 'tock',
    value: benchCase.tock,
    spread: spreadOf(benchCase, 'tock', benchCase.tock),
  }));
  if (floor !== null) bars.push({ name: 'floor', kind: 'floor', value: floor });
  const noted = cases.filter(({ note }) => note);
  const notes = noted.map((benchCase) =>
    single ? benchCase.note : `${named(benchCase)}: ${benchCase.note}`,
  );
  const title = single ? cases.map(named).join() : 'Tock alone';
  return card(title, unit, bars, '', [...new Set(notes)]);
}

/** Bars of a group: one card for each case with peers, and one for all others with the same unit and floor. */
export function barsOf(cases: Case[], prefix: string): string {
  const withPeers = cases.filter((benchCase) => peersIn(benchCase).length > 0);
  const others = cases.filter((benchCase) => peersIn(benchCase).length === 0);
  const together = Map.groupBy(others, ({ unit, floor }) => `${unit} ${floor}`);
  const cards = [
    ...withPeers.map(compared),
    ...[...together.values()].map((some) => alone(some, prefix)),
  ];
  return `<div class="cards">${cards.join('\n')}</div>`;
}
