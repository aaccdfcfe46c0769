import type { Query } from '../query.ts';
import { type Column, placeOf, type Texts } from './columns.ts';
import { digestOf } from './digest.ts';
import { rowsOf } from './parquet.ts';
import { putVerified } from './put.ts';
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

/** A file's runs after all that is to be erased from it has been. */
async function eraseFile(query: Query, store: Store, path: string): Promise<Texts[]> {
  const [row] = await query('select r.path, r.erased from tock.archive_rewriting(p_path => $1) r', [
    path,
  ]);
  if (!row) throw new Error(`${path} is no file of the archive any more`);
  const to = row.path as string;
  try {
    const bytes = await store.get(path);
    if (!bytes) throw new Error(`the store does not have ${path}, a file of the archive`);
    const rows = await rowsOf(bytes);
    const fewer = await without(query, rows, new Set((row.erased as unknown[]).map(String)));
    if (fewer) await rewrite(query, store, path, fewer, to);
    return rows;
  } finally {
    // Where it has become a file it is none of those that are given up.
    await query('select tock.archive_abandoned(p_path => $1)', [to]).catch(() => {});
  }
}

async function filesOf(query: Query, id: string, taskId: string): Promise<string[]> {
  const found = await query(
    'select f.path from tock.archive_files(p_id => $1, p_task_id => $2) f',
    [id, taskId],
  );
  return found.map(({ path }) => path as string);
}

/** Erases a task from all files that hold runs of it, one after the other along its runs. */
export async function eraseTask(query: Query, store: Store, taskId: string): Promise<void> {
  const first = await query('select f.path from tock.archive_files_of_task(p_task_id => $1) f', [
    taskId,
  ]);
  const paths = new Set(first.map(({ path }) => path as string));
  const known = new Map<string, string | null>();
  for (let path = next(paths); path !== null; path = next(paths)) {
    for (const row of await eraseFile(query, store, path)) {
      if (at(row, 'task_id') === taskId) known.set(at(row, 'id') ?? '', at(row, 'next_id'));
    }
    for (const id of [...known.values()]) {
      if (id === null || known.has(id)) continue;
      known.set(id, null);
      for (const found of await filesOf(query, id, taskId)) paths.add(found);
    }
  }
  await query('select tock.archive_erased(p_task_id => $1)', [taskId]);
}

function next(paths: Set<string>): string | null {
  for (const path of paths) {
    paths.delete(path);
    return path;
  }
  return null;
}

/** So many that can't be erased are passed over in a step. */
const MOST_FAILED = 10;

/** Erases the first task that is to be and can be: 0 where there is none, thrown where one can't. */
export async function eraseFrom(query: Query, store: Store): Promise<number> {
  let after = '0';
  const failures: unknown[] = [];
  while (failures.length < MOST_FAILED) {
    const [row] = await query('select tock.archive_erasing(p_after => $1)::text as task_id', [
      after,
    ]);
    if (!row?.task_id) break;
    after = row.task_id as string;
    try {
      await eraseTask(query, store, after);
      return 1;
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return 0;
}
