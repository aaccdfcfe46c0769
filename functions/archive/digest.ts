import { indexOf, type RunTexts } from './columns.ts';

const STREAM_BITS = 20n;
const idAt = indexOf('id');
const stepsAt = indexOf('steps');

export async function sha256(bytes: Uint8Array): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>);
  return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/**
 * The same digest as archive_rows() in SQL, of the runs ordered by stream, then position. An id consists of both. Runs
 * without steps are one text shorter, as in SQL.
 */
export async function digestOf(rows: readonly RunTexts[]): Promise<string> {
  const sorted = rows.map((row) => {
    const id = BigInt(row[idAt] ?? 0);
    return { row, stream: BigInt.asUintN(Number(STREAM_BITS), id), id };
  });
  sorted.sort((a, b) =>
    a.stream === b.stream ? Number(a.id - b.id) : Number(a.stream - b.stream),
  );
  const joined = sorted.map(({ row }) => {
    const texts = (row[stepsAt] ?? null) === null ? row.slice(0, stepsAt) : row;
    return texts.map((text) => text ?? '\x1a').join('\x1f');
  });
  return sha256(new TextEncoder().encode(joined.join('\x1e')));
}
