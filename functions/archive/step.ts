import { roomy } from '../database/connect.ts';
import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import type { Texts } from './columns.ts';
import { eraseFrom } from './erase.ts';
import { storeOf } from './open_store.ts';
import { isConflict, putVerified } from './put.ts';
import type { Store } from './store.ts';

/** What a step did; `more`, where another would go on at once. */
export type Step = {
  epoch: number | null;
  part: number | null;
  rows: number;
  bytes: number;
  deleted: number;
  erased: number;
  more: boolean;
};

export type Bounds = { rows?: number | undefined; bytes?: number | undefined };

type Part = {
  epoch: number;
  part: number;
  path: string;
  count: number;
  digest: string;
  rows: string;
};

/** Takes away objects that are no files of the archive; what a store refuses is left for the next step, and thrown. */
async function clear(query: Query, store: Store): Promise<number> {
  const [row] = await query('select tock.archive_unwanted() as paths');
  const gone: string[] = [];
  const failures: unknown[] = [];
  for (const path of (row?.paths ?? []) as string[]) {
    await store.delete(path).then(
      () => gone.push(path),
      (error) => failures.push(error),
    );
  }
  if (gone.length > 0) await query('select tock.archive_deleted(p_paths => $1)', [gone]);
  if (failures.length > 0) throw failures[0];
  return gone.length;
}

/** The next part, written and read back; false where it has changed meanwhile, or somebody else was first. */
async function writePart(query: Query, store: Store, part: Part): Promise<number | false> {
  try {
    const rows = JSON.parse(part.rows) as Texts[];
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
    `select p.epoch, p.part, p.path, p.count, p.digest, p.rows
     from tock.archive_part(p_limit => coalesce($1::integer, 10000), p_bytes => coalesce($2::bigint, 4194304)) p`,
    [rows ?? null, bytes ?? null],
  );
  if (!row) return {};
  const part = row as Part;
  const written = await writePart(query, store, part);
  if (written === false) return { more: true };
  return { epoch: part.epoch, part: part.part, rows: part.count, bytes: written, more: true };
}

/**
 * One bounded step: what is unwanted goes, an erased task is erased from a few files, a part is exported. What fails keeps none of the others
 * from being done; it is noted, and thrown where a part was not exported.
 */
export async function archiveStep(query: Query, store: Store, bounds: Bounds = {}): Promise<Step> {
  const failures: unknown[] = [];
  const failed = (error: unknown) => void failures.push(error);
  const deleted = (await clear(query, store).catch(failed)) ?? 0;
  const erased = (await eraseFrom(query, store).catch(failed)) ?? null;
  const part = (await nextPart(query, store, bounds).catch(failed)) ?? {};
  const [failure] = failures;
  if (failures.length > 0) {
    const said = failure instanceof Error ? failure.message : String(failure);
    await query('select tock.archive_stepped(p_error => $1)', [said]).catch(() => {});
    if (!part.more) throw failure;
  } else await query('select tock.archive_stepped()');
  const more = part.more === true || erased !== null;
  return {
    epoch: null,
    part: null,
    rows: 0,
    bytes: 0,
    deleted,
    erased: erased ?? 0,
    ...part,
    more,
  };
}

/** Before history is dropped by who has a store: it goes there, unless somebody has turned that off, or will turn it on by hand. */
export async function wantArchive(connect: Connect, env: Bindings): Promise<void> {
  if (env.TOCK_ARCHIVE !== 'manual' && storeOf(env))
    await connect(env, (query) => query('select tock.want_archive()'));
}

/** Seconds of an invocation that go to the archive. */
const ARCHIVE_SECONDS = 10;

/** Steps until nothing is left to do, or the time is up: whether there is more. Nothing where there is no store. */
export async function toArchive(connect: Connect, env: Bindings): Promise<boolean> {
  const store = storeOf(env);
  if (!store) return false;
  const until = performance.now() + ARCHIVE_SECONDS * 1000;
  let more = true;
  await connect(roomy(env), async (query) => {
    while (more && performance.now() < until) ({ more } = await archiveStep(query, store));
  });
  return more;
}
