import fc from 'fast-check';
import { ByteWriter, parquetWrite } from 'hyparquet-writer';
import { expect, test } from 'vitest';
import { columns, fromText, type RunTexts, schema } from '../../functions/archive/columns.ts';
import { findRows, readRows, toParquet } from '../../functions/archive/parquet.ts';

/** Any text that PostgreSQL can store: Unicode without U+0000. */
const text = fc.oneof(
  fc.constantFrom('', '\ufeff', '\ufeffann', '\uffff', '\x1a', '\x1e\x1f', '\u{10ffff}', '\r\n'),
  fc.string({ unit: 'binary' }).map((any) => any.replaceAll('\0', '')),
);
const whole = fc.integer({ min: 0, max: 32_767 }).map(String);
const micros = fc
  .bigInt({ min: -210_866_803_200_000_000n, max: 9_223_371_331_200_000_000n })
  .map(String);
const of: Record<string, fc.Arbitrary<string>> = {
  id: fc.bigInt({ min: 1n, max: 2n ** 63n - 1n }).map(String),
  whole,
  micros,
  text,
  flag: fc.boolean().map(String),
  // As to_json() writes a double: the progress of a run, from 0 to 100.
  real: fc.constantFrom('0', '100', '33.3333333', '1e-05', '99.99999999999999', '2.5e-300'),
};

const row = fc.tuple(
  ...columns.map(([, kind]) => {
    const some = of[kind.replace('?', '')] as fc.Arbitrary<string>;
    return kind.endsWith('?') ? fc.option(some) : some;
  }),
) as fc.Arbitrary<RunTexts>;

test('runs with any values are read as they were written', async () => {
  const rows = fc.uniqueArray(row, { minLength: 1, maxLength: 20, selector: ([id]) => id });
  await fc.assert(
    fc.asyncProperty(rows, async (unsorted) => {
      const sorted = unsorted.toSorted((a, b) => (BigInt(a[0] ?? 0) < BigInt(b[0] ?? 0) ? -1 : 1));
      expect(await readRows(toParquet(unsorted))).toEqual(sorted);
    }),
  );
});

/** A file as it was before runs had steps. */
function olderFile(run: RunTexts): Uint8Array {
  const older = columns.slice(0, -1);
  const writer = new ByteWriter();
  parquetWrite({
    writer,
    columnData: older.map(([name], at) => ({ name, data: [fromText(at, run[at] ?? null)] })),
    schema: [{ name: 'run', num_children: older.length }, ...schema.slice(1, columns.length)],
  });
  return writer.getBytes();
}

test('an older file is read as runs without steps', async () => {
  await fc.assert(
    fc.asyncProperty(row, async (run) => {
      const bytes = olderFile(run);
      const runs = [[...run.slice(0, -1), null]];
      expect(await readRows(bytes)).toEqual(runs);
      const file = {
        byteLength: bytes.length,
        slice: (start: number, end?: number) => bytes.slice(start, end).buffer as ArrayBuffer,
      };
      expect(await findRows(file, 'id', BigInt(run[0] ?? 0))).toEqual(runs);
    }),
  );
});
