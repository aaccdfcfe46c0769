import { unlimitedAnswers } from '../database/connect.ts';
import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { eachNode } from '../nodes/config.ts';
import type { RunTexts } from './columns.ts';
import { eraseNext } from './erase.ts';
import { openStore } from './open_store.ts';
import { isConflict, putVerified } from './put.ts';
import type { Store } from './store.ts';

/** The result of a step; `more` if another step has work at once. */
export type Step = {
  segment: number | null;
  part: number | null;
  rows: number;
  bytes: number;
  deleted: number;
  erased: number;
  more: boolean;
};

export type Bounds = { rows?: number | undefined; bytes?: number | undefined };

type Part = {
  segment: number;
  part: number;
  path: string;
  count: number;
  digest: string;
  rows: string;
};

/** Deletes objects that are not files of the archive. It throws if a deletion fails; the next step retries. */
async function deleteUnwanted(query: Query, store: Store): Promise<number> {
  const [row] = await query('select tock.archive_unwanted() as paths');
  const deletedPaths: string[] = [];
  const failures: unknown[] = [];
  for (const path of (row?.paths ?? []) as string[]) {
    await store.delete(path).then(
      () => deletedPaths.push(path),
      (error) => failures.push(error),
    );
  }
  if (deletedPaths.length > 0)
    await query('select tock.archive_deleted(p_paths => $1)', [deletedPaths]);
  if (failures.length > 0) throw failures[0];
  return deletedPaths.length;
}

/** Writes the next part and reads it back; false if the part has changed or another process has written it. */
async function writePart(query: Query, store: Store, part: Part): Promise<number | false> {
  try {
    const rows = JSON.parse(part.rows) as RunTexts[];
    const { bytes, sha256 } = await putVerified(store, part.path, rows, part.digest);
    await query(
      'select tock.archived(p_path => $1, p_bytes => $2, p_sha256 => $3, p_rows => $4, p_digest => $5)',
      [part.path, bytes, sha256, rows.length, part.digest],
    );
    return bytes;
  } catch (error) {
    await query('select tock.archive_abandoned(p_path => $1)', [part.path]).catch(() => {});
    if (isConflict(error)) return false;
    throw error;
  }
}

async function nextPart(
  query: Query,
  store: Store,
  { rows, bytes }: Bounds,
): Promise<Partial<Step>> {
  const [row] = await query(
    `select p.segment, p.part, p.path, p.count, p.digest, p.rows
     from tock.archive_part(p_limit => coalesce($1::integer, 10000), p_bytes => coalesce($2::bigint, 4194304)) p`,
    [rows ?? null, bytes ?? null],
  );
  if (!row) return {};
  const part = row as Part;
  const written = await writePart(query, store, part);
  if (written === false) return { more: true };
  return { segment: part.segment, part: part.part, rows: part.count, bytes: written, more: true };
}

/**
 * One bounded step: deletes unwanted objects, erases a task from a few files, exports a part. A failed action does not
 * stop the others. Its error is recorded, and thrown if no part was exported.
 */
export async function archiveStep(query: Query, store: Store, bounds: Bounds = {}): Promise<Step> {
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  const deleted = (await deleteUnwanted(query, store).catch(failed)) ?? 0;
  const erased = (await eraseNext(query, store).catch(failed)) ?? null;
  const part = (await nextPart(query, store, bounds).catch(failed)) ?? {};
  const [failure] = failures;
  if (failures.length > 0) {
    const message = failure instanceof Error ? failure.message : String(failure);
    await query('select tock.record_archive_step(p_error => $1)', [message]).catch(() => {});
    if (!part.more) throw failure;
  } else await query('select tock.record_archive_step()');
  const more = part.more === true || erased !== null;
  return {
    segment: null,
    part: null,
    rows: 0,
    bytes: 0,
    deleted,
    erased: erased ?? 0,
    ...part,
    more,
  };
}

/** Turns the archive on if a store is configured, unless TOCK_ARCHIVE is manual or an operator has turned it off. */
export async function enableArchive(connect: Connect, env: Bindings): Promise<void> {
  if (env.TOCK_ARCHIVE === 'manual' || !openStore(env)) return;
  for (const node of eachNode(env))
    await connect(node, (query) => query('select tock.enable_archive_by_default()'));
}

/** Archiving starts no step after this many seconds of an invocation. */
const ARCHIVE_SECONDS = 10;

/** Runs steps until no work is left or the time is up. Returns true if work is left, false without a store. */
export async function runArchive(connect: Connect, env: Bindings): Promise<boolean> {
  const store = openStore(env);
  if (!store) return false;
  const until = performance.now() + ARCHIVE_SECONDS * 1000;
  let isWorkLeft = false;
  for (const node of eachNode(env)) {
    let more = true;
    await connect(unlimitedAnswers(node), async (query) => {
      while (more && performance.now() < until) ({ more } = await archiveStep(query, store));
    });
    isWorkLeft ||= more;
  }
  return isWorkLeft;
}
