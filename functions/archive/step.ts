import type { Query } from '../query.ts';
import type { Texts } from './columns.ts';
import { eraseFrom } from './erase.ts';
import { putVerified } from './put.ts';
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

const isConflict = (error: unknown) => (error as { code?: string }).code === 'TK409';

/** Takes away objects that are no files of the archive; a store's refusal leaves them for the next step. */
async function clear(query: Query, store: Store): Promise<number> {
  const [row] = await query('select tock.archive_unwanted() as paths');
  const paths = (row?.paths ?? []) as string[];
  for (const path of paths) await store.delete(path);
  if (paths.length > 0) await query('select tock.archive_deleted(p_paths => $1)', [paths]);
  return paths.length;
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

/** One bounded step: what is unwanted goes, an erased task is erased, a part is exported. What failed is noted, and thrown. */
export async function archiveStep(query: Query, store: Store, bounds: Bounds = {}): Promise<Step> {
  try {
    const deleted = await clear(query, store);
    const erased = await eraseFrom(query, store);
    const part = await nextPart(query, store, bounds);
    await query('select tock.archive_stepped()');
    const more = part.more === true || erased > 0;
    return { epoch: null, part: null, rows: 0, bytes: 0, deleted, erased, ...part, more };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    await query('select tock.archive_stepped(p_error => $1)', [said]).catch(() => {});
    throw error;
  }
}

/** Steps until nothing is left to do, or the time is up. */
export async function archiveFor(query: Query, store: Store, seconds: number): Promise<void> {
  const until = performance.now() + seconds * 1000;
  while ((await archiveStep(query, store)).more && performance.now() < until);
}
