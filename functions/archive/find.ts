import { refusal } from '../http/problem.ts';
import { type Column, indexOf, type RunTexts } from './columns.ts';
import { readRows } from './parquet.ts';
import { isLast, stateOf } from './state.ts';
import type { Store } from './store.ts';

export type File = { segment: number; part: number; path: string; bytes: number; rows: number };

/** The filters of a search; from and to are microseconds as text, null for no limit. */
export type ArchiveQuery = {
  queue: string;
  state: string | null;
  tenant: string | null;
  unique_key: string | null;
  worker: string | null;
  error: string | null;
  from: string | null;
  to: string | null;
};

export type ArchivedTask = {
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

const MAX_TEXT = 200;

/** Hint for a file that is missing in the store: an erasure may have replaced it. */
export const missingFileHint =
  'Retry: an erasure may just have replaced the file. If the error stays, look for the file in the bucket; archived runs are stored nowhere else.';

const textOf = (row: RunTexts, column: Column) => row[indexOf(column)] ?? null;

/** An instant as PostgreSQL writes it in JSON: with microseconds, without trailing zeros. */
function instant(micros: string | null): string | null {
  if (micros === null) return null;
  const seconds = new Date(Number(BigInt(micros) / 1000n)).toISOString().slice(0, 19);
  const fraction = (BigInt(micros) % 1_000_000n).toString().padStart(6, '0').replace(/0+$/, '');
  return `${seconds}${fraction && `.${fraction}`}+00:00`;
}

/** The text of an error, as tock.error_text() returns it. */
function errorText(json: string | null): string | null {
  if (json === null) return null;
  const error: unknown = JSON.parse(json);
  const message = (error as { message?: unknown } | null)?.message ?? error;
  const errorJson = message === error ? json : JSON.stringify(message);
  const text = typeof message === 'string' ? message : errorJson;
  return Array.from(text.slice(0, 2 * MAX_TEXT))
    .slice(0, MAX_TEXT)
    .join('');
}

function uniqueKey(options: string | null): string | null {
  const { unique_key = null } = JSON.parse(options ?? '{}') as { unique_key?: string };
  return unique_key;
}

const errorOf = (row: RunTexts, isErased: boolean) =>
  stateOf(row) === 'dead' && !isErased ? errorText(textOf(row, 'error')) : null;

function toArchivedTask(row: RunTexts, isErased: boolean): ArchivedTask {
  return {
    id: textOf(row, 'task_id') ?? '',
    run_id: textOf(row, 'id') ?? '',
    queue: textOf(row, 'queue') ?? '',
    state: stateOf(row),
    priority: Number(textOf(row, 'priority')),
    tenant: textOf(row, 'tenant'),
    attempt: Number(textOf(row, 'attempt')),
    created_at: instant(textOf(row, 'created_at')) ?? '',
    run_at: null,
    ended_at: instant(textOf(row, 'ended_at')),
    worker: textOf(row, 'worker'),
    error: errorOf(row, isErased),
  };
}

/** Filters never match erased data. */
function matches(row: RunTexts, query: ArchiveQuery, isErased: boolean): boolean {
  const { state, tenant, worker, error, from, to } = query;
  const created = BigInt(textOf(row, 'created_at') ?? 0);
  return (
    isLast(row) &&
    (state === null || stateOf(row) === state) &&
    (tenant === null || textOf(row, 'tenant') === tenant) &&
    (worker === null || textOf(row, 'worker') === worker) &&
    (error === null || errorOf(row, isErased) === error) &&
    (query.unique_key === null ||
      (!isErased && uniqueKey(textOf(row, 'options')) === query.unique_key)) &&
    (from === null || created >= BigInt(from)) &&
    (to === null || created < BigInt(to))
  );
}

/** The matching tasks of a file, each by its last run, newest first; and how many runs of the queue the file has. */
export async function tasksIn(
  store: Store,
  file: File,
  query: ArchiveQuery,
  isErased: (taskId: string) => boolean,
): Promise<{ tasks: ArchivedTask[]; looked: number }> {
  const bytes = await store.get(file.path);
  if (!bytes) {
    throw refusal(503, `The archive's store does not have ${file.path}.`, {
      hint: missingFileHint,
    });
  }
  const rows = (await readRows(bytes)).filter((row) => textOf(row, 'queue') === query.queue);
  const candidates = rows.map((row) => ({ row, erased: isErased(textOf(row, 'task_id') ?? '') }));
  const matching = candidates.filter(({ row, erased }) => matches(row, query, erased)).reverse();
  return {
    tasks: matching.map(({ row, erased }) => toArchivedTask(row, erased)),
    looked: rows.length,
  };
}
