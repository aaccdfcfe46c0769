import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { constraintViolations } from './constraints.ts';
import { rows } from './verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

/** Returns the constraint that refuses the row for the tables' owner, or undefined. The insert is rolled back. */
async function refusedBy(table: string, row: object): Promise<string | undefined> {
  await client.query('begin');
  try {
    await client.query(
      `insert into tock.${table} overriding system value
       select (jsonb_populate_record(null::tock.${table}, $1)).*`,
      [JSON.stringify(row)],
    );
    return undefined;
  } catch (error) {
    return (error as pg.DatabaseError).constraint ?? String(error);
  } finally {
    await client.query('rollback');
  }
}

for (const { table, row, broken } of constraintViolations) {
  test(`each constraint of ${table} refuses a row, also from the tables' owner`, async () => {
    expect(await refusedBy(table, row)).toBeUndefined();
    for (const [constraint, change] of Object.entries(broken)) {
      expect(await refusedBy(table, { ...row, ...change })).toBe(constraint);
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
  const tried = constraintViolations.flatMap(({ table, broken }) =>
    Object.keys(broken).map((constraint) => `${table}.${constraint}`),
  );
  expect(tried.sort()).toEqual(known.map(({ name }) => name).sort());
});
