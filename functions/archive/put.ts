import type { RunTexts } from './columns.ts';
import { digestOf, sha256 } from './digest.ts';
import { readRows, toParquet } from './parquet.ts';
import type { Store } from './store.ts';

/** True if another process has changed the archive first. */
export const isConflict = (error: unknown) => (error as { code?: string }).code === 'TK409';

export type Written = { bytes: number; sha256: string };

/** Writes runs to the store and reads them back; throws if the digest differs. */
export async function putVerified(
  store: Store,
  path: string,
  rows: readonly RunTexts[],
  digest: string,
): Promise<Written> {
  const bytes = toParquet(rows);
  const hash = await sha256(bytes);
  await store.put(path, bytes, hash);
  const stored = await store.get(path);
  if (!stored)
    throw new Error(`the archive's store does not return ${path}, which was just written`);
  const read = await readRows(stored).catch((error) => {
    throw new Error(`the archive's store returned ${path} as an invalid Parquet file: ${error}`);
  });
  if (read.length !== rows.length || (await digestOf(read)) !== digest) {
    throw new Error(`the archive's store returned ${path} with different runs than were written`);
  }
  if ((await sha256(stored)) !== hash) {
    throw new Error(`the archive's store returned ${path} with different bytes than were written`);
  }
  return { bytes: bytes.length, sha256: hash };
}
