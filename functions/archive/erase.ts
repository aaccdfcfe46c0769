import type { Query } from '../database/types.ts';
import { type Column, indexOf, type RunTexts } from './columns.ts';
import { digestOf } from './digest.ts';
import { readRows } from './parquet.ts';
import { isConflict, putVerified } from './put.ts';
import type { Store } from './store.ts';

const erasedColumns: Column[] = ['payload', 'result', 'error', 'note', 'steps'];
const textOf = (row: RunTexts, column: Column) => row[indexOf(column)] ?? null;

/** The runs of a file without the data of erased tasks; null if the file has no such data. */
async function withoutErased(
  query: Query,
  rows: RunTexts[],
  erased: Set<string>,
): Promise<RunTexts[] | null> {
  const erasedRows = rows.filter((row) => erased.has(textOf(row, 'task_id') ?? ''));
  const [row] = await query('select tock.archive_emptied(p_options => $1) as options', [
    erasedRows.map((erasedRow) => textOf(erasedRow, 'options')),
  ]);
  const options = (row?.options ?? []) as (string | null)[];
  let changed = false;
  for (const [n, erasedRow] of erasedRows.entries()) {
    const before = erasedRow.join();
    for (const column of erasedColumns) erasedRow[indexOf(column)] = null;
    erasedRow[indexOf('options')] = options[n] ?? null;
    changed ||= erasedRow.join() !== before;
  }
  return changed ? rows : null;
}

/** Replaces a file. If the old object cannot be deleted now, a later step deletes it. */
async function rewrite(
  query: Query,
  store: Store,
  path: string,
  rows: RunTexts[],
  newPath: string,
) {
  const digest = await digestOf(rows);
  const { bytes, sha256 } = await putVerified(store, newPath, rows, digest);
  await query(
    'select tock.archive_rewritten(p_path => $1, p_new => $2, p_bytes => $3, p_sha256 => $4, p_digest => $5)',
    [path, newPath, bytes, sha256, digest],
  );
  await store.delete(path);
  await query('select tock.archive_deleted(p_paths => $1)', [[path]]);
}

/** Erases tasks from a file; false if another process has rewritten it meanwhile. */
async function eraseFile(query: Query, store: Store, path: string, erased: Set<string>) {
  const bytes = await store.get(path);
  const remaining = bytes && (await withoutErased(query, await readRows(bytes), erased));
  if (bytes && !remaining) return true;
  const [row] = await query('select tock.archive_rewriting(p_path => $1) as path', [path]);
  if (!row?.path) return false;
  const newPath = row.path as string;
  try {
    if (!remaining)
      throw new Error(
        `the archive's store does not have ${path}, so tasks cannot be erased from it: put the file back into the bucket`,
      );
    await rewrite(query, store, path, remaining, newPath);
    return true;
  } catch (error) {
    await query('select tock.archive_abandoned(p_path => $1)', [newPath]).catch(() => {});
    if (isConflict(error)) return false;
    throw error;
  }
}

type ErasureTask = {
  task_id: string;
  files: { number: number; path: string }[];
  erased: unknown[];
};

/**
 * Erases the next task from a few of the files that may hold its runs. Returns 1 if the task is erased from all files,
 * 0 if files are left, null if no task is to be erased.
 */
export async function eraseNext(query: Query, store: Store): Promise<number | null> {
  const [row] = await query(
    'select e.task_id::text as task_id, e.files, e.erased from tock.archive_erasing() e',
  );
  if (!row) return null;
  const { task_id: taskId, files, erased } = row as ErasureTask;
  const tasks = new Set(erased.map(String));
  let last = 0;
  for (const { number, path } of files) {
    if (!(await eraseFile(query, store, path, tasks))) break;
    last = number;
  }
  const [result] = await query(
    'select tock.archive_erased(p_task_id => $1, p_file => $2) as whole',
    [taskId, last],
  );
  return result?.whole ? 1 : 0;
}
