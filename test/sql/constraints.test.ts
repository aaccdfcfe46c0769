import type pg from 'pg';
import { expect, test } from 'vitest';
import { validRows, violations } from './constraints.ts';
import { client, databasePerFile } from './test_database.ts';
import { rows } from './verbs.ts';

databasePerFile();

/** Returns the constraint that refuses the row for the tables' owner, or undefined. The insert is rolled back. */
async function refusedBy(table: string, row: object): Promise<string | undefined> {
  await client.query('begin');
  try {
    const columns = Object.keys(row).map((name) => `"${name}"`);
    await client.query(
      `insert into tock.${table} (${columns}) overriding system value
       select ${columns} from jsonb_populate_record(null::tock.${table}, $1)`,
      [JSON.stringify(row)],
    );
    return undefined;
  } catch (error) {
    return (error as pg.DatabaseError).constraint ?? String(error);
  } finally {
    await client.query('rollback');
  }
}

for (const [table, row] of Object.entries(validRows)) {
  test(`each constraint of ${table} refuses a row, also from the tables' owner`, async () => {
    expect(await refusedBy(table, row)).toBeUndefined();
    for (const [name, change] of Object.entries(violations)) {
      const [of, constraint] = name.split('.');
      if (of === table) expect(await refusedBy(table, { ...row, ...change })).toBe(constraint);
    }
  });
}

test('each constraint is tested', async () => {
  const known = await rows<{ name: string }>(
    client,
    `select format('%s.%s', t.relname, c.conname) as name from pg_constraint c
     join pg_class t on t.oid = c.conrelid
     where c.connamespace = 'tock'::regnamespace and c.contype in ('c', 'x') and not t.relispartition
     order by 1`,
  );
  expect(Object.keys(violations).sort()).toEqual(known.map(({ name }) => name).sort());
  expect(
    Object.keys(violations).filter((name) => !((name.split('.')[0] as string) in validRows)),
  ).toEqual([]);
});
