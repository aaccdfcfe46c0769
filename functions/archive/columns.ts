import type { SchemaElement } from 'hyparquet';

type Kind = 'id' | 'whole' | 'text' | 'micros' | 'real' | 'flag';

/** What a run is in the archive, in the order of sql/features/archive/runs_to_archive.segment.sql; `?` may be null. */
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
] as const satisfies readonly (readonly [string, Kind | `${Kind}?`])[];

export type Column = (typeof columns)[number][0];

/** A run as SQL writes it: a text or null for each column. */
export type Texts = (string | null)[];

const places = new Map<string, number>(columns.map(([name], place) => [name, place]));

export const placeOf = (name: Column): number => places.get(name) as number;

const kindOf = (kind: string) => kind.replace('?', '') as Kind;

const physical: Record<Kind, Omit<SchemaElement, 'name'>> = {
  id: { type: 'INT64' },
  whole: { type: 'INT32' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  // Both, as older readers know the first only: it does not say that they are in UTC.
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
  // For who reads the files: of the last run of a task how that ended, which tells dead from failed. It is made of
  // the others, so neither SQL nor the digest knows it, and older files don't have it.
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

/** PostgreSQL writes small ones as 1e-05, JavaScript those under 1e-6 as 1e-7. */
function realText(value: number): string {
  const [digits = '', power = '0'] = value.toExponential().split('e');
  const small = value !== 0 && Number(power) < -4;
  return small ? `${digits}e-${String(-Number(power)).padStart(2, '0')}` : String(value);
}

export const fromText = (place: number, text: string | null): unknown =>
  text === null ? null : toValue[kindOf((columns[place] as readonly string[])[1] ?? '')](text);

export function toText(place: number, value: unknown): string | null {
  if (value === null || value === undefined) return null;
  const [, kind = ''] = columns[place] as readonly string[];
  return kindOf(kind) === 'real' ? realText(value as number) : String(value);
}
