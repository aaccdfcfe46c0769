import { expect, test } from 'vitest';
import { client, databasePerTest } from '../../test_database.ts';
import { rows, value } from '../../verbs.ts';

databasePerTest();

test('a filter matches every number in it, and about one of 400 others', async () => {
  const [counted] = await rows<{ holders: number; outside: number; bytes: number }>(
    client,
    `with f as materialized (select tock.filter_of(array(select 37 * n from generate_series(1, 2000) n)) as filter)
     select count(*) filter (where n % 37 = 0)::int as holders, count(*) filter (where n % 37 <> 0)::int as outside,
       octet_length((select filter from f)) as bytes
     from generate_series(37, 74000) n where tock.may_contain((select filter from f), n)`,
  );
  expect(counted).toMatchObject({ holders: 2000, bytes: 4000 });
  expect(counted?.outside).toBeLessThan((74000 - 2000) / 200);
});

test('a filter of one number matches that number, and a filter of none matches nothing', async () => {
  const largest = '9223372036854775807';
  const holds = (value_: string, filtered: string) =>
    value(client, 'select tock.may_contain(tock.filter_of(array[$1::bigint]), $2)', [
      filtered,
      value_,
    ]);
  expect(await holds(largest, largest)).toBe(true);
  expect(await holds('0', '0')).toBe(true);
  expect(await holds('1', largest)).toBe(false);
  expect(await value(client, "select tock.filter_of('{}')")).toBeNull();
});
