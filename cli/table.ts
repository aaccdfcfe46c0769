import { visibleLine } from './escape_control.ts';

export type Cell = string | number | boolean | null | undefined;

const format = (cell: Cell) =>
  cell === null || cell === undefined ? '-' : visibleLine(String(cell));

/** Pads columns to their width, numbers to the right; `rows[0]` is the heading. */
export function table(rows: Cell[][]): string {
  const widths = (rows[0] ?? []).map((_, index) =>
    Math.max(...rows.map((row) => format(row[index]).length)),
  );
  const formatRow = (row: Cell[]) =>
    widths.map((width, index) => {
      const right = rows.slice(1).every((otherRow) => typeof (otherRow[index] ?? 0) === 'number');
      return right ? format(row[index]).padStart(width) : format(row[index]).padEnd(width);
    });
  return `${rows.map((row) => formatRow(row).join('  ').trimEnd()).join('\n')}\n`;
}

/** A readable time span: 45 s, 12 min, 5 h, 3 d. */
export function span(seconds: number): string {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800
    ? `${Math.round(seconds / 3600)} h`
    : `${Math.round(seconds / 86_400)} d`;
}

/** A readable instant, to the second, in UTC. */
export function moment(instant: unknown): string | null {
  return instant ? new Date(instant as string).toISOString().replace('T', ' ').slice(0, 19) : null;
}

/** A hint for a list that returned as many entries as requested. */
export const moreAfter = (count: number, limit: number, name: string | null | undefined) =>
  count >= limit && `There may be more: --after ${JSON.stringify(name)}`;

/** Formats a count: 1 task, 2 tasks. */
export const plural = (count: number, singular: string, pluralForm = `${singular}s`) =>
  `${count} ${count === 1 ? singular : pluralForm}`;
