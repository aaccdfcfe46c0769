import type { Query } from '../database/types.ts';
import { type Column, placeOf, type Texts } from './columns.ts';
import { digestOf } from './digest.ts';
import { rowsOf } from './parquet.ts';
import { isConflict, putVerified } from './put.ts';
import type { Store } from './store.ts';

const emptied: Column[] = ['payload', 'result', 'error', 'note'];
const at = (row: Texts, column: Column) => row[placeOf(column)] ?? null;

/** The runs of a file without what erased tasks had in them; null where they had nothing. */
async function without(query: Query, rows: Texts[], erased: Set<string>): Promise<Texts[] | null> {
  const theirs = rows.filter((row) => erased.has(at(row, 'task_id') ?? ''));
  const [row] = await query('select tock.archive_emptied(p_options => $1) as options', [
    theirs.map((one) => at(one, 'options')),
  ]);
  const options = (row?.options ?? []) as (string | null)[];
  let changed = false;
  for (const [n, one] of theirs.entries()) {
    const was = one.join();
    for (const column of emptied) one[placeOf(column)] = null;
    one[placeOf('options')] = options[n] ?? null;
    changed ||= one.join() !== was;
  }
  return changed ? rows : null;
}

/** Puts another file in a file's place; the old object goes at once, or by a later step. */
async function rewrite(query: Query, store: Store, path: string, rows: Texts[], to: string) {
  const digest = await digestOf(rows);
  const { bytes, sha256 } = await putVerified(store, to, rows, digest);
  await query(
    'select tock.archive_rewritten(p_path => $1, p_new => $2, p_bytes => $3, p_sha256 => $4, p_digest => $5)',
    [path, to, bytes, sha256, digest],
  );
  await store.delete(path);
  await query('select tock.archive_deleted(p_paths => $1)', [[path]]);
}

/** Erases tasks from a file: false where somebody else has rewritten it meanwhile. */
async function eraseFile(query: Query, store: Store, path: string, erased: Set<string>) {
  const bytes = await store.get(path);
  const fewer = bytes && (await without(query, await rowsOf(bytes), erased));
  if (bytes && !fewer) return true;
  const [row] = await query('select tock.archive_rewriting(p_path => $1) as path', [path]);
  if (!row?.path) return false;
  const to = row.path as string;
  try {
    if (!fewer) throw new Error(`the store does not have ${path}, a file of the archive`);
    await rewrite(query, store, path, fewer, to);
    return true;
  } catch (error) {
    await query('select tock.archive_abandoned(p_path => $1)', [to]).catch(() => {});
    if (isConflict(error)) return false;
    throw error;
  }
}

type Erasing = { task_id: string; files: { number: number; path: string }[]; erased: unknown[] };

/**
 * Erases the task whose turn it is from the next few of the files that may hold runs of it: 1 where it is gone from all
 * of them, 0 where there is more to do, null where nothing is to be erased.
 */
export async function eraseFrom(query: Query, store: Store): Promise<number | null> {
  const [row] = await query(
    'select e.task_id::text as task_id, e.files, e.erased from tock.archive_erasing() e',
  );
  if (!row) return null;
  const { task_id: taskId, files, erased } = row as Erasing;
  const tasks = new Set(erased.map(String));
  let last = 0;
  for (const { number, path } of files) {
    if (!(await eraseFile(query, store, path, tasks))) break;
    last = number;
  }
  const [end] = await query('select tock.archive_erased(p_task_id => $1, p_file => $2) as whole', [
    taskId,
    last,
  ]);
  return end?.whole ? 1 : 0;
}
