import { lockWaiting } from './plain.ts';

export type Cell = string | number | boolean | null | undefined;

const shown = (cell: Cell) =>
  cell === null || cell === undefined ? '-' : lockWaiting(String(cell));

/** Pads columns to a width of their own, numbers to the right; `rows[0]` is the heading. */
export function table(rows: Cell[][]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => shown(row[at]).length)),
  );
  const line = (row: Cell[]) =>
    widths.map((width, at) => {
      const right = rows.slice(1).every((other) => typeof (other[at] ?? 0) === 'number');
      return right ? shown(row[at]).padStart(width) : shown(row[at]).padEnd(width);
    });
  return `${rows.map((row) => line(row).join('  ').trimEnd()).join('\n')}\n`;
}

/** A time span for people: 45 s, 12 min, 5 h, 3 d. */
export function span(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h`
    : `${Math.round(seconds / 86_400)} d`;
}

/** An instant for people, to the second, in UTC. */
export function moment(at: unknown): string | null {
  return at ? new Date(at as string).toISOString().replace('T', ' ').slice(0, 19) : null;
}

/** Of a list that may go on behind the last of as many as were asked for. */
export const moreAfter = (count: number, most: number, name: string | null | undefined) =>
  count >= most && `There may be more: --after ${JSON.stringify(name)}`;

/** 1 task, 2 tasks. */
export const some = (count: number, one: string, more = `${one}s`) =>
  `${count} ${count === 1 ? one : more}`;
