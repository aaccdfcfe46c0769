import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readSql } from '../../migrate/files.ts';
import { type Database, freshDatabase } from '../database.ts';
import { describeSchema } from '../sql/describe_schema.ts';
import { bareDatabase, source, upgrade, withCopy } from './database.ts';

// A migrated database equals a fresh one. test/sql/schema.test.ts compares the fresh one with sql/schema.sql.

const { migrations, functions } = readSql(source);

// Segments that were created before a migration must equal those that are created after it.
const makeAhead = (client: pg.Client) =>
  client.query('select tock.create_segments(p_ahead => 4, p_width => 5000)');

// The CHECK of a partition only avoids a scan when it is attached. A fillfactor of 100 is the default.
const inUse = (text: string) =>
  text.replace(/\n {2}(constraint \w+_\d+_segment CHECK .*|with \(fillfactor=100\))/g, '');

let fresh: Database;
let schema: string;
beforeAll(async () => {
  fresh = await freshDatabase();
  schema = await describeSchema(await fresh.connect(), true);
});
afterAll(() => fresh.drop());

for (const [index, { name }] of migrations.entries()) {
  test(`a database left at ${name} and migrated equals a fresh one`, async () => {
    const left = migrations.slice(0, index + 1).map((file) => file.name);
    const isEmptyPool = (path: string) => !path.endsWith('.sql') || left.includes(path);
    const db = await bareDatabase();
    await withCopy({}, (directory) => upgrade(db.url, { directory }), isEmptyPool);
    const { applied } = await upgrade(db.url);
    expect(applied).toHaveLength(migrations.length - index - 1);
    expect(await describeSchema(await db.connect(), true)).toBe(schema);
    await db.drop();
  });
}

test('a second migration changes nothing', async () => {
  expect((await upgrade(fresh.url)).applied).toEqual([]);
  expect(await describeSchema(await fresh.connect(), true)).toBe(schema);
});

// The next migration, together with a function that changes.
const next = String((migrations.at(-1)?.number ?? 0) + 1).padStart(4, '0');
const widens = `
  alter table tock.leases add column planted text not null default 'x';
  create index leases_by_planted on tock.leases (planted);
  alter table tock.queues add column planted integer not null default 7,
    add constraint planted_is_small check (planted < 1000);`;
const dropsSignature = 'drop function if exists tock.planted(integer);';

/** The files of a version that has a function with this signature, and perhaps a migration. */
function version(signature: string, migration?: string): Record<string, string> {
  const file = functions[0]?.name as string;
  const made = `create or replace function tock.${signature} returns integer language sql as $$ select p_one $$;
    revoke all on function tock.${signature.replace(/\(.*/, '')} from public;`;
  return {
    [file]: `${readFileSync(join(source, file), 'utf8')}\n${made}\n`,
    ...(migration && { [`migrations/${next}_planted.sql`]: migration }),
  };
}

/** The schemas of two databases with segments ahead: one migrated from the version before, and a fresh one. */
async function both(now: Record<string, string>): Promise<[migrated: string, made: string]> {
  const [old, made] = [await bareDatabase(), await bareDatabase()];
  await withCopy(version('planted(p_one integer)'), (directory) => upgrade(old.url, { directory }));
  const client = await old.connect();
  await makeAhead(client);
  await withCopy(now, async (directory) => {
    const { applied } = await upgrade(old.url, { directory });
    expect(applied).toEqual([`migrations/${next}_planted.sql`]);
    await upgrade(made.url, { directory });
    const whole = inUse(await describeSchema(client, true));
    expect((await upgrade(old.url, { directory })).applied).toEqual([]);
    expect(inUse(await describeSchema(client, true))).toBe(whole);
  });
  const other = await made.connect();
  await makeAhead(other);
  const all = [client, other].map(async (on) => inUse(await describeSchema(on, true)));
  const [upgradedSchema = '', freshSchema = ''] = await Promise.all(all);
  await Promise.all([old.drop(), made.drop()]);
  return [upgradedSchema, freshSchema];
}

test('a database migrated to the next version equals a fresh one, also in its segments', async () => {
  const [migrated, made] = await both(
    version('planted(p_one integer, p_two text default null)', `${widens}\n${dropsSignature}`),
  );
  expect(made).toContain('function tock.planted(p_one integer, p_two text DEFAULT NULL::text)');
  expect(made).toContain('planted_is_small');
  expect(migrated).toBe(made);
});

test('a database that keeps a function of the version before differs from a fresh one', async () => {
  const [migrated, made] = await both(version('renamed(p_one integer)', widens));
  expect(made).not.toContain('function tock.planted');
  expect(migrated).not.toBe(made);
  expect(migrated).toContain('function tock.planted');
});
