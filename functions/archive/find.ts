import { refusal } from '../http/problem.ts';
import { type Column, placeOf, type Texts } from './columns.ts';
import { rowsOf } from './parquet.ts';
import { isLast, stateOf } from './state.ts';
import type { Store } from './store.ts';

export type File = { epoch: number; part: number; path: string; bytes: number; rows: number };

/** What a search asks of a task; from and to in microseconds, as texts, null for any. */
export type Wish = {
  queue: string;
  state: string | null;
  tenant: string | null;
  unique_key: string | null;
  worker: string | null;
  error: string | null;
  from: string | null;
  to: string | null;
};

export type Found = {
  id: string;
  run_id: string;
  queue: string;
  state: string;
  priority: number;
  tenant: string | null;
  attempt: number;
  created_at: string;
  run_at: null;
  ended_at: string | null;
  worker: string | null;
  error: string | null;
};

const MOST_TEXT = 200;

/** What to do where the store does not have a file: an erasure that puts another in its place takes it away. */
export const gone =
  'Ask again, as a task may just have been erased from it. Where it stays so, see what became of it: what is archived lies nowhere else.';

const at = (row: Texts, column: Column) => row[placeOf(column)] ?? null;

/** As PostgreSQL writes it in JSON: to the microsecond, without zeros at its end. */
function instant(micros: string | null): string | null {
  if (micros === null) return null;
  const seconds = new Date(Number(BigInt(micros) / 1000n)).toISOString().slice(0, 19);
  const fraction = (BigInt(micros) % 1_000_000n).toString().padStart(6, '0').replace(/0+$/, '');
  return `${seconds}${fraction && `.${fraction}`}+00:00`;
}

/** What an error says, as tock.error_text() has it. */
function errorText(json: string | null): string | null {
  if (json === null) return null;
  const error: unknown = JSON.parse(json);
  const message = (error as { message?: unknown } | null)?.message ?? error;
  const said = message === error ? json : JSON.stringify(message);
  const text = typeof message === 'string' ? message : said;
  return Array.from(text.slice(0, 2 * MOST_TEXT))
    .slice(0, MOST_TEXT)
    .join('');
}

function uniqueKey(options: string | null): string | null {
  const { unique_key = null } = JSON.parse(options ?? '{}') as { unique_key?: string };
  return unique_key;
}

const saidBy = (row: Texts, isErased: boolean) =>
  stateOf(row) === 'dead' && !isErased ? errorText(at(row, 'error')) : null;

function foundOf(row: Texts, isErased: boolean): Found {
  return {
    id: at(row, 'task_id') ?? '',
    run_id: at(row, 'id') ?? '',
    queue: at(row, 'queue') ?? '',
    state: stateOf(row),
    priority: Number(at(row, 'priority')),
    tenant: at(row, 'tenant'),
    attempt: Number(at(row, 'attempt')),
    created_at: instant(at(row, 'created_at')) ?? '',
    run_at: null,
    ended_at: instant(at(row, 'ended_at')),
    worker: at(row, 'worker'),
    error: saidBy(row, isErased),
  };
}

/** What was erased is found by nothing that was in it. */
function fits(row: Texts, wish: Wish, isErased: boolean): boolean {
  const { state, tenant, worker, error, from, to } = wish;
  const created = BigInt(at(row, 'created_at') ?? 0);
  return (
    isLast(row) &&
    (state === null || stateOf(row) === state) &&
    (tenant === null || at(row, 'tenant') === tenant) &&
    (worker === null || at(row, 'worker') === worker) &&
    (error === null || saidBy(row, isErased) === error) &&
    (wish.unique_key === null ||
      (!isErased && uniqueKey(at(row, 'options')) === wish.unique_key)) &&
    (from === null || created >= BigInt(from)) &&
    (to === null || created < BigInt(to))
  );
}

/** The tasks of a file that fit, the newest run first, each by its last run; and how many runs of the queue it has. */
export async function tasksIn(
  store: Store,
  file: File,
  wish: Wish,
  isErased: (taskId: string) => boolean,
): Promise<{ tasks: Found[]; looked: number }> {
  const bytes = await store.get(file.path);
  if (!bytes) {
    throw refusal(503, `The archive's store does not have ${file.path}.`, {
      hint: gone,
    });
  }
  const rows = (await rowsOf(bytes)).filter((row) => at(row, 'queue') === wish.queue);
  const judged = rows.map((row) => ({ row, erased: isErased(at(row, 'task_id') ?? '') }));
  const found = judged.filter(({ row, erased }) => fits(row, wish, erased)).reverse();
  return { tasks: found.map(({ row, erased }) => foundOf(row, erased)), looked: rows.length };
}
