import { placeOf, type Texts } from './columns.ts';

const STREAM_BITS = 20n;
const idAt = placeOf('id');

export async function sha256(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** What archive_rows() makes of the same runs: by stream and position, so by the id's halves. */
export async function digestOf(rows: readonly Texts[]): Promise<string> {
  const keyed = rows.map((row) => {
    const id = BigInt(row[idAt] ?? 0);
    return { row, stream: BigInt.asUintN(Number(STREAM_BITS), id), id };
  });
  keyed.sort((a, b) => (a.stream === b.stream ? Number(a.id - b.id) : Number(a.stream - b.stream)));
  const plain = keyed.map(({ row }) => row.map((text) => text ?? '\x1a').join('\x1f'));
  return sha256(new TextEncoder().encode(plain.join('\x1e')));
}
