import type { SchemaElement } from 'hyparquet';

type Kind = 'id' | 'whole' | 'text' | 'micros' | 'real' | 'flag';

/**
 * The columns of an archived run, in the order of sql/features/archive/runs_to_archive.segment.sql; `?` is nullable. SQL
 * leaves out the last one where it is null, and older files don't have it.
 */
export const columns = [
  ['id', 'id'],
  ['task_id', 'id'],
  ['next_id', 'id?'],
  ['queue', 'text'],
  ['state', 'text'],
  ['priority', 'whole'],
  ['tenant', 'text?'],
  ['attempt', 'whole'],
  ['max_attempts', 'whole?'],
  ['lost', 'whole'],
  ['created_at', 'micros'],
  ['started_at', 'micros?'],
  ['leased_until', 'micros?'],
  ['ended_at', 'micros?'],
  ['worker', 'text?'],
  ['payload', 'text?'],
  ['result', 'text?'],
  ['error', 'text?'],
  ['options', 'text?'],
  ['progress', 'real?'],
  ['note', 'text?'],
  ['cancel_requested', 'flag'],
  ['rerun_of', 'id?'],
  ['steps', 'text?'],
] as const satisfies readonly (readonly [string, Kind | `${Kind}?`])[];

export type Column = (typeof columns)[number][0];

/** A run as SQL writes it: one text or null for each column. */
export type RunTexts = (string | null)[];

const indexes = new Map<string, number>(columns.map(([name], index) => [name, index]));

export const indexOf = (name: Column): number => indexes.get(name) as number;

const kindOf = (kind: string) => kind.replace('?', '') as Kind;

const physical: Record<Kind, Omit<SchemaElement, 'name'>> = {
  id: { type: 'INT64' },
  whole: { type: 'INT32' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  // The column has both types, because older readers know only converted_type, which does not state UTC.
  micros: {
    type: 'INT64',
    converted_type: 'TIMESTAMP_MICROS',
    logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
  },
  real: { type: 'DOUBLE' },
  flag: { type: 'BOOLEAN' },
};

export const schema: SchemaElement[] = [
  { name: 'run', num_children: columns.length + 1 },
  ...columns.map(
    ([name, kind]): SchemaElement => ({
      name,
      ...physical[kindOf(kind)],
      repetition_type: kind.endsWith('?') ? 'OPTIONAL' : 'REQUIRED',
    }),
  ),
  // For other programs that read the files: how the task ended, on its last run. It is derived from the other columns,
  // so SQL and the digest don't include it. Older files don't have it.
  { name: 'task_state', ...physical.text, repetition_type: 'OPTIONAL' },
];

const toValue: Record<Kind, (text: string) => unknown> = {
  id: BigInt,
  micros: BigInt,
  whole: Number,
  real: Number,
  text: (text) => text,
  flag: (text) => text === 'true',
};

/** A number as PostgreSQL writes it: 0.00001 is 1e-05 there, and 0.00001 in JavaScript. */
function realText(value: number): string {
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const isSmall = value !== 0 && Number(exponent) < -4;
  return isSmall ? `${digits}e-${String(-Number(exponent)).padStart(2, '0')}` : String(value);
}

export const fromText = (index: number, text: string | null): unknown =>
  text === null ? null : toValue[kindOf((columns[index] as readonly string[])[1] ?? '')](text);

export function toText(index: number, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const [, kind = ''] = columns[index] as readonly string[];
  return kindOf(kind) === 'real' ? realText(value as number) : String(value);
}
