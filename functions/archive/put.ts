import type { Texts } from './columns.ts';
import { digestOf, sha256 } from './digest.ts';
import { parquetOf, rowsOf } from './parquet.ts';
import type { Store } from './store.ts';

/** What the database says where somebody else was first. */
export const isConflict = (error: unknown) => (error as { code?: string }).code === 'TK409';

export type Written = { bytes: number; sha256: string };

/** Writes runs to the store and reads them back: throws unless what came back is what they come to. */
export async function putVerified(
  store: Store,
  path: string,
  rows: readonly Texts[],
  digest: string,
): Promise<Written> {
  const bytes = parquetOf(rows);
  const hash = await sha256(bytes);
  await store.put(path, bytes, hash);
  const back = await store.get(path);
  if (!back) throw new Error(`the store does not have ${path}, which was just put there`);
  const read = await rowsOf(back).catch((error) => {
    throw new Error(`${path} came back from the store as no Parquet file: ${error}`);
  });
  if (read.length !== rows.length || (await digestOf(read)) !== digest) {
    throw new Error(`${path} came back from the store with other runs than were put there`);
  }
  if ((await sha256(back)) !== hash) {
    throw new Error(`${path} came back from the store as other bytes than were put there`);
  }
  return { bytes: bytes.length, sha256: hash };
}
