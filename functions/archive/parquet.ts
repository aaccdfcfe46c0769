import {
  type AsyncBuffer,
  type FileMetaData,
  type ParquetParsers,
  parquetMetadata,
  parquetMetadataAsync,
  parquetRead,
  type RowGroup,
} from 'hyparquet';
import { ByteWriter, parquetWrite } from 'hyparquet-writer';
import { type Column, columns, fromText, placeOf, schema, type Texts, toText } from './columns.ts';
import { isLast, stateOf } from './state.ts';

/** A look-up reads one group: small ones make it short. */
const GROUP_ROWS = 2000;
/** Of what is read first, from the end: the footer of a file of 10,000 runs is about 20 kB. */
const FOOTER_BYTES = 65_536;

// A text that begins with U+FEFF keeps it.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

const parsers: Partial<ParquetParsers> = {
  timestampFromMicroseconds: (micros) => micros,
  stringFromBytes: (bytes) => bytes && utf8.decode(bytes),
};

const ids = (rows: readonly Texts[]) =>
  rows
    .map((row) => ({ row, id: BigInt(row[placeOf('id')] ?? 0) }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

/** Runs in the order of their ids, so of time, as one Parquet file. */
export function parquetOf(rows: readonly Texts[]): Uint8Array {
  const sorted = ids(rows).map(({ row }) => row);
  const columnData: { name: string; data: unknown[] }[] = columns.map(([name], place) => ({
    name,
    data: sorted.map((row) => fromText(place, row[place] ?? null)),
  }));
  const ends = sorted.map((row) => (isLast(row) ? stateOf(row) : null));
  columnData.push({ name: 'task_state', data: ends });
  const writer = new ByteWriter();
  parquetWrite({ writer, columnData, schema, rowGroupSize: GROUP_ROWS, createdBy: 'tock' });
  return writer.getBytes();
}

async function read(
  file: AsyncBuffer,
  metadata: FileMetaData,
  from: number,
  to: number,
): Promise<Texts[]> {
  const rows: Texts[] = [];
  await parquetRead({
    file,
    metadata,
    parsers,
    rowStart: from,
    rowEnd: to,
    columns: columns.map(([name]) => name),
    onComplete(read) {
      for (const row of read) rows.push(columns.map((_, place) => toText(place, row[place])));
    },
  });
  return rows;
}

/** A whole file's runs; throws where it is none. */
export async function rowsOf(bytes: Uint8Array): Promise<Texts[]> {
  const { buffer, byteOffset, byteLength } = bytes;
  const own = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  const file = { byteLength, slice: (start: number, end?: number) => own.slice(start, end) };
  const metadata = parquetMetadata(own, { parsers });
  return read(file, metadata, 0, Number(metadata.num_rows));
}

/** Whether a group may have a value, by its statistics. */
function mayHave(group: RowGroup, column: Column, value: bigint): boolean {
  const found = group.columns.find(({ meta_data: data }) => data?.path_in_schema[0] === column);
  const { min_value: min, max_value: max } = found?.meta_data?.statistics ?? {};
  return typeof min !== 'bigint' || typeof max !== 'bigint' || (min <= value && value <= max);
}

/** The bytes of all columns of a group, which lie together. */
function extentOf(group: RowGroup): [start: number, end: number] {
  let start = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const { meta_data: data } of group.columns) {
    if (!data) continue;
    const first = Number(data.dictionary_page_offset || data.data_page_offset);
    start = Math.min(start, first);
    end = Math.max(end, first + Number(data.total_compressed_size));
  }
  return [start, end];
}

/** Serves from one range that is read at once. */
async function ahead(file: AsyncBuffer, start: number, end: number): Promise<AsyncBuffer> {
  const held = await file.slice(start, end);
  return {
    byteLength: file.byteLength,
    slice: (from, to = file.byteLength) =>
      from >= start && to <= end ? held.slice(from - start, to - start) : file.slice(from, to),
  };
}

/** Runs that have this value, out of the groups that may have it. */
export async function rowsWith(file: AsyncBuffer, column: Column, value: bigint): Promise<Texts[]> {
  const metadata = await parquetMetadataAsync(file, { initialFetchSize: FOOTER_BYTES, parsers });
  const found: Texts[] = [];
  let from = 0;
  for (const group of metadata.row_groups) {
    const to = from + Number(group.num_rows);
    if (mayHave(group, column, value)) {
      const rows = await read(await ahead(file, ...extentOf(group)), metadata, from, to);
      found.push(...rows.filter((row) => row[placeOf(column)] === String(value)));
    }
    from = to;
  }
  return found;
}
