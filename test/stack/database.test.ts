import { afterAll, expect, test } from 'vitest';
import { cronDatabase, type Database, freshDatabase, ownCluster } from '../database.ts';

const made: Database[] = [];
afterAll(() => Promise.all(made.map((database) => database.drop())));

test('every test gets a database of its own, made side by side', async () => {
  made.push(...(await Promise.all([freshDatabase(), freshDatabase(), freshDatabase()])));
  expect(new Set(made.map(({ name }) => name)).size).toBe(3);
});

test('PgBouncer serves a new database at once', async () => {
  const database = await freshDatabase();
  made.push(database);
  const client = await database.connect(database.poolUrl);
  const { rows } = await client.query('select current_database() as name, current_user as role');
  expect(rows[0]).toEqual({ name: database.name, role: 'tock_edge' });
});

test("pg_cron runs in its own database and the owner has only a customer's rights there", async () => {
  const database = await cronDatabase();
  try {
    const client = await database.connect();
    const { rows } = await client.query(`
      select rolsuper or rolcreatedb as mighty, has_schema_privilege('cron', 'usage') as usage,
             has_schema_privilege('cron', 'create') as creates
        from pg_roles where rolname = current_user`);
    expect(rows[0]).toEqual({ mighty: false, usage: true, creates: false });
  } finally {
    await database.drop();
  }
});

test('a cluster of its own survives kill -9 of everything in it', async () => {
  const own = await ownCluster();
  try {
    const client = await own.connect();
    await client.query('create table kept as select 1 as number');
    const before = own.postmasterPid;
    await own.kill9();
    await expect(client.query('select 1')).rejects.toThrow();
    await own.start();
    expect(own.postmasterPid).not.toBe(before);
    const again = await own.connect();
    expect((await again.query('select number from kept')).rows).toEqual([{ number: 1 }]);
  } finally {
    await own.drop();
  }
});
