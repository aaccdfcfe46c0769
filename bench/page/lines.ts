import { shown } from '../report.ts';
import type { Case } from '../types.ts';
import { escaped, folded, table } from './html.ts';

type Line = { name: string; points: [x: number, y: number][] };
type Chart = { title: string; x: string; y: string; lines: Line[]; most?: number };

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [640, 280, 58, 12, 12, 52];
const [wide, high] = [WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];

/** A round step that divides the axis into about four parts. */
function stepOf(most: number): number {
  const raw = most / 4;
  const ten = 10 ** Math.floor(Math.log10(raw));
  return ten * ([1, 2, 2.5, 5].find((factor) => factor * ten >= raw) ?? 10);
}

const ticks = (most: number) => {
  const step = stepOf(most);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, n) => n * step);
};

const compact = (value: number) =>
  value.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 2 });

/** A line chart whose axes start at zero. The table beside it has the values. */
function svg({ title, x, y, lines, most }: Chart): string {
  const points = lines.flatMap((line) => line.points);
  const right = most ?? Math.max(...points.map(([at]) => at));
  const top = 1.05 * Math.max(...points.map(([, value]) => value));
  const px = (at: number) => (LEFT + (wide * Math.min(at, right)) / right).toFixed(1);
  const py = (value: number) => (TOP + high - (high * value) / top).toFixed(1);
  const across = ticks(top).map(
    (tick) =>
      `<path class="grid" d="M${LEFT} ${py(tick)}h${wide}"/><text x="${LEFT - 6}" y="${py(tick)}" dy=".32em" text-anchor="end">${compact(tick)}</text>`,
  );
  const below = ticks(right).map(
    (tick) =>
      `<text x="${px(tick)}" y="${HEIGHT - 30}" text-anchor="middle">${compact(tick)}</text>`,
  );
  const drawn = lines.map(({ points: all }, n) => {
    const d = all.map(([at, value], i) => `${i ? 'L' : 'M'}${px(at)} ${py(value)}`).join('');
    return `<path class="line l${n}" d="${d}"/>`;
  });
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}: ${escaped(y)} by ${escaped(x)}; the table below has the figures">
${across.join('')}${below.join('')}<text x="${WIDTH - RIGHT}" y="${HEIGHT - 6}" text-anchor="end">${escaped(x)}</text>${drawn.join('')}</svg>`;
}

function figure(chart: Chart, figures: string): string {
  const legend = chart.lines.map(
    ({ name }, n) =>
      `<li><svg viewBox="0 0 26 8" aria-hidden="true"><path class="line l${n}" d="M0 4h26"/></svg>${escaped(name)}</li>`,
  );
  return `<figure><figcaption>${escaped(chart.title)} <small>${escaped(chart.y)}</small></figcaption>
<ul class="legend">${legend.join('')}</ul>${svg(chart)}${figures}</figure>`;
}

/** The chart of windows that follow each other: rates while a transaction is held open, or memory during work. */
function inTime(benchCase: Case, title: string, x: string, y: string): string {
  const windows = Object.entries(benchCase.windows ?? {});
  const lines = windows.map(
    ([name, seen]): Line => ({
      name,
      points: seen.map((value, n) => [n + 1, value]),
    }),
  );
  const count = Math.max(...windows.map(([, seen]) => seen.length));
  const rows = Array.from({ length: count }, (_, n) => [
    `${n + 1}`,
    ...windows.map(([, seen]) => shown(seen[n])),
  ]);
  const head = [x, ...windows.map(([name]) => name)];
  const figures = folded('The same as a table', table(`${title}, ${y}`, head, rows));
  return figure({ title, x, y, lines }, figures);
}

const parts = [10, 25, 50, 75, 90, 99, 100];

/** The sample at a percentile. */
const percentile = (sorted: number[], part: number) =>
  sorted[Math.max(0, Math.ceil((sorted.length * part) / 100) - 1)] ?? 0;

/** The chart of a latency's samples: the percentage of samples up to each time. */
function spread(benchCase: Case, title: string): string {
  const windows = Object.entries(benchCase.windows ?? {}).map(
    ([name, seen]) => [name, seen.toSorted((a, b) => a - b)] as const,
  );
  const lines = windows.map(
    ([name, seen]): Line => ({
      name,
      points: [
        [0, 0],
        ...seen.map((ms, n): [number, number] => [ms, (100 * (n + 1)) / seen.length]),
      ],
    }),
  );
  const most = 1.2 * Math.max(...windows.map(([, seen]) => percentile(seen, 99)));
  const rows = windows.map(([name, seen]) => [
    name,
    ...parts.map((part) => shown(percentile(seen, part))),
    `${seen.length}`,
  ]);
  const head = ['ms', ...parts.map((part) => (part === 100 ? 'most' : `p${part}`)), 'samples'];
  const figures = folded('The same as a table', table(`${title}, ms`, head, rows));
  return figure({ title, x: 'ms', y: '% that took at most so long', lines, most }, figures);
}

const many = ({ windows = {} }: Case) => Object.values(windows).some((seen) => seen.length > 3);

/** The line chart of a case whose windows are more than repetitions; null for others. */
export function lineOf(benchCase: Case): string | null {
  if (!many(benchCase)) return null;
  const held = /^(held .*): last of first$/.exec(benchCase.name);
  if (held) {
    return inTime(
      benchCase,
      `${held[1]}: beside a transaction that stays open`,
      'window',
      'tasks/s',
    );
  }
  if (benchCase.group === 'memory') return inTime(benchCase, benchCase.name, 'sample', 'MB');
  const latency = /^(.*), p50$/.exec(benchCase.name);
  return latency && benchCase.unit === 'ms' ? spread(benchCase, latency[1] as string) : null;
}
