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
import {
  type Column,
  columns,
  fromText,
  indexOf,
  type RunTexts,
  schema,
  toText,
} from './columns.ts';
import { isLast, stateOf } from './state.ts';

/** A lookup reads a whole row group, so groups are small. */
const GROUP_ROWS = 2000;
/** Size of the first read, at the end of the file: the footer of a file of 10,000 runs is about 20 kB. */
const FOOTER_BYTES = 65_536;

// ignoreBOM keeps a leading U+FEFF in texts.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

const parsers: Partial<ParquetParsers> = {
  timestampFromMicroseconds: (micros) => micros,
  stringFromBytes: (bytes) => bytes && utf8.decode(bytes),
};

const byId = (rows: readonly RunTexts[]) =>
  rows
    .map((row) => ({ row, id: BigInt(row[indexOf('id')] ?? 0) }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));

/** Runs as one Parquet file, ordered by id and so by time. */
export function toParquet(rows: readonly RunTexts[]): Uint8Array {
  const sorted = byId(rows).map(({ row }) => row);
  const columnData: { name: string; data: unknown[] }[] = columns.map(([name], place) => ({
    name,
    data: sorted.map((row) => fromText(place, row[place] ?? null)),
  }));
  const taskStates = sorted.map((row) => (isLast(row) ? stateOf(row) : null));
  columnData.push({ name: 'task_state', data: taskStates });
  const writer = new ByteWriter();
  parquetWrite({ writer, columnData, schema, rowGroupSize: GROUP_ROWS, createdBy: 'tock' });
  return writer.getBytes();
}

async function read(
  file: AsyncBuffer,
  metadata: FileMetaData,
  from: number,
  to: number,
): Promise<RunTexts[]> {
  const rows: RunTexts[] = [];
  const columnsOfFile = new Set(metadata.schema.map(({ name }) => name));
  await parquetRead({
    file,
    metadata,
    parsers,
    rowStart: from,
    rowEnd: to,
    columns: columns.map(([name]) => name).filter((name) => columnsOfFile.has(name)),
    onComplete(read) {
      for (const row of read) rows.push(columns.map((_, place) => toText(place, row[place])));
    },
  });
  return rows;
}

/** All runs of a file; throws if it is not a Parquet file. */
export async function readRows(bytes: Uint8Array): Promise<RunTexts[]> {
  const { buffer, byteOffset, byteLength } = bytes;
  const contents = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  const file = { byteLength, slice: (start: number, end?: number) => contents.slice(start, end) };
  const metadata = parquetMetadata(contents, { parsers });
  return read(file, metadata, 0, Number(metadata.num_rows));
}

/** True unless the group's statistics exclude the value. */
function mayHave(group: RowGroup, column: Column, value: bigint): boolean {
  const chunk = group.columns.find(({ meta_data: data }) => data?.path_in_schema[0] === column);
  const { min_value: min, max_value: max } = chunk?.meta_data?.statistics ?? {};
  return typeof min !== 'bigint' || typeof max !== 'bigint' || (min <= value && value <= max);
}

/** The byte range of all columns of a group, which lie next to each other. */
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

/** Reads a range in one request and serves later reads from it. */
async function readAhead(file: AsyncBuffer, start: number, end: number): Promise<AsyncBuffer> {
  const buffered = await file.slice(start, end);
  return {
    byteLength: file.byteLength,
    slice: (from, to = file.byteLength) =>
      from >= start && to <= end ? buffered.slice(from - start, to - start) : file.slice(from, to),
  };
}

/** Runs with this value, from the groups that may contain it. */
export async function findRows(
  file: AsyncBuffer,
  column: Column,
  value: bigint,
): Promise<RunTexts[]> {
  const metadata = await parquetMetadataAsync(file, { initialFetchSize: FOOTER_BYTES, parsers });
  const matchingRows: RunTexts[] = [];
  let from = 0;
  for (const group of metadata.row_groups) {
    const to = from + Number(group.num_rows);
    if (mayHave(group, column, value)) {
      const rows = await read(await readAhead(file, ...extentOf(group)), metadata, from, to);
      matchingRows.push(...rows.filter((row) => row[indexOf(column)] === String(value)));
    }
    from = to;
  }
  return matchingRows;
}
