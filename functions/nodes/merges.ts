import type { Merge } from './call.ts';

type Value = unknown;
type Row = Record<string, Value>;

/** Merges lists that are in order, and keeps the order of each. */
export function merged<T>(
  lists: readonly (readonly T[])[],
  isBefore: (a: T, b: T) => boolean,
): T[] {
  const rest = lists.map((list) => [...list]);
  const all: T[] = [];
  for (;;) {
    const next = rest.reduce<T[] | null>((best, list) => {
      if (list[0] === undefined) return best;
      return best === null || isBefore(list[0], best[0] as T) ? list : best;
    }, null);
    if (!next) return all;
    all.push(next.shift() as T);
  }
}

const time = (value: Value) => Date.parse(value as string);
export const earlier = (a: Value, b: Value) => (time(a) <= time(b) ? a : b);
const later = (a: Value, b: Value) => (time(a) >= time(b) ? a : b);

/** How the values of a field come together; by default numbers are added. */
type Ways = Record<string, (a: never, b: never) => Value>;

function combinedValue(a: Value, b: Value, ways: Ways): Value {
  if (a === null || b === null) return a ?? b;
  if (typeof a === 'number') return a + (b as number);
  if (typeof a === 'boolean') return a && b;
  if (Array.isArray(a)) {
    const list = b as number[];
    return Array.from(
      { length: Math.max(a.length, list.length) },
      (_, n) => (a[n] ?? 0) + (list[n] ?? 0),
    );
  }
  return typeof a === 'object' ? combined(a as Row, b as Row, ways) : a;
}

/** One row of two: numbers are added, and of times the earlier one stays. */
export function combined(a: Row, b: Row, ways: Ways = {}): Row {
  const names = Object.keys({ ...a, ...b });
  return Object.fromEntries(
    names.map((name) => {
      const [one, other] = [a[name] ?? null, b[name] ?? null];
      const way = ways[name] ?? (name.endsWith('_at') ? earlier : null);
      if (!way || one === null || other === null) return [name, combinedValue(one, other, ways)];
      return [name, way(one as never, other as never)];
    }),
  );
}

export const higher = (a: number, b: number) => Math.max(a, b);
export const either = (a: Value) => a;
export const union = (a: string[], b: string[]) => [...new Set([...a, ...b])].sort();
export const newest: Ways[string] = later;

/** One answer of all: see combined(). */
export const total =
  (ways: Ways = {}): Merge =>
  (parts) =>
    parts.map(({ body }) => body).reduce((a, b) => combined(a, b, ways));

/** A list of rows by name. Rows of several nodes with the same name become one. */
export function rowsByName(field: string, name: string, ways: Ways = {}): Merge {
  return (parts) => {
    const rows = new Map<string, Row>();
    for (const { body } of parts) {
      for (const row of body[field] as Row[]) {
        const before = rows.get(row[name] as string);
        rows.set(row[name] as string, before ? combined(before, row, ways) : row);
      }
    }
    const key = (row: Row) => row[name] as string;
    return { [field]: [...rows.values()].toSorted((a, b) => (key(a) < key(b) ? -1 : 1)) };
  };
}

/** Lists whose rows say which node they are of. */
export const rowsOfNodes =
  (...fields: string[]): Merge =>
  (parts) =>
    Object.fromEntries(
      fields.map((field) => [
        field,
        parts.flatMap(({ node, body }) => body[field].map((row: Row) => ({ node, ...row }))),
      ]),
    );

type Durations = {
  mean: number | null;
  p50: number | null;
  p95: number | null;
  p99: number | null;
};

/** The mean is exact. Of percentiles the highest stays, because those of parts don't give that of the whole. */
function durations(a: Durations, aCount: number, b: Durations, bCount: number): Durations {
  const count = aCount + bCount;
  const most = (one: number | null, other: number | null) =>
    one === null || other === null ? (one ?? other) : Math.max(one, other);
  const mean =
    a.mean === null || b.mean === null || count === 0
      ? (a.mean ?? b.mean)
      : (a.mean * aCount + b.mean * bCount) / count;
  return { mean, p50: most(a.p50, b.p50), p95: most(a.p95, b.p95), p99: most(a.p99, b.p99) };
}

type Point = Record<'started' | 'done' | 'failed', number> & { wait: Durations; run: Durations };

function combinedPoints(a: Point, b: Point): Row {
  const ended = ({ done, failed }: Point) => done + failed;
  return {
    ...combined(a, b, { at: either, oldest_ready_seconds: higher }),
    wait: durations(a.wait, a.started, b.wait, b.started),
    run: durations(a.run, ended(a), b.run, ended(b)),
  };
}

/** Series of the same period. */
export const series: Merge = (parts) => {
  const points = new Map<number, Row>();
  for (const { body } of parts) {
    for (const point of (body.points ?? []) as (Point & { at: string })[]) {
      const before = points.get(time(point.at));
      points.set(time(point.at), before ? combinedPoints(before as Point, point) : point);
    }
  }
  const times = [...points.keys()].sort((a, b) => a - b);
  return {
    step_seconds: parts.find(({ body }) => body.step_seconds)?.body.step_seconds ?? null,
    points: times.map((at) => points.get(at)),
  };
};

/** The text format of Prometheus has the samples of a metric together, so each gets the label `node` and moves there. */
export const exposition: Merge = (parts) => {
  const metrics = new Map<string, { head: string[]; samples: string[] }>();
  for (const { node, body } of parts) {
    let current = { head: [] as string[], samples: [] as string[] };
    for (const line of (body.text as string).trimEnd().split('\n')) {
      const [, kind, name = ''] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
      if (kind) {
        current = metrics.get(name) ?? { head: [], samples: [] };
        metrics.set(name, current);
        if (!current.head.some((head) => head.startsWith(`# ${kind} `))) current.head.push(line);
      } else {
        current.samples.push(
          line.replace(/^(\w+)(?:\{|(?= ))/, (start, metric) =>
            start.endsWith('{') ? `${metric}{node="${node}",` : `${metric}{node="${node}"}`,
          ),
        );
      }
    }
  }
  const blocks = [...metrics.values()].flatMap(({ head, samples }) => [...head, ...samples]);
  return { text: `${blocks.join('\n')}\n` };
};
