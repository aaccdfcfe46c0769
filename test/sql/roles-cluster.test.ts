import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate as migrateBy } from '../../migrate/migrate.ts';
import { makeDatabase, withClient } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';
import { type TestCluster, testCluster } from '../../scripts/stack/test_cluster.ts';

const migrate = (url: string) => migrateBy(url, { directory: process.env.TOCK_SQL_DIRECTORY });

// Roles belong to the cluster, so these tests use a cluster without Tock's roles.
let made: TestCluster;
beforeAll(async () => {
  made = await testCluster('tock_roles', softly);
});
afterAll(() => made.close());

const all = ['tock_admin', 'tock_edge', 'tock_producer', 'tock_worker'];

async function asSuper<T extends object>(sql: string): Promise<T[]> {
  return withClient(made.cluster.url(), async (client) => (await client.query(sql)).rows);
}

const present = async () =>
  (
    await asSuper<{ rolname: string }>(
      "select rolname from pg_roles where rolname like 'tock\\_%' order by 1",
    )
  ).map((row) => row.rolname);

async function database(name: string): Promise<string> {
  await makeDatabase(made.cluster.url(), name);
  const url = new URL(made.cluster.url(name));
  url.username = 'tock';
  url.password = made.passwords.owner;
  return url.href;
}

async function dropAll(names: string[]): Promise<void> {
  for (const name of names) await asSuper(`drop database ${name} with (force)`);
  for (const role of await present()) await asSuper(`drop role ${role}`);
}

const callers = `
  select p.proname || ' ' || string_agg(r.rolname, ' ' order by r.rolname) as may
  from pg_proc p join pg_roles r on r.rolname like 'tock\\_%' and has_function_privilege(r.rolname, p.oid, 'execute')
  where p.pronamespace = 'tock'::regnamespace group by p.oid, p.proname order by 1`;

const mayCall = (url: string) =>
  withClient(url, async (client) => (await client.query(callers)).rows);

async function loseRoles(names: string[], roles: string[]): Promise<void> {
  for (const name of names) {
    await withClient(made.cluster.url(name), (client) =>
      client.query(`drop owned by ${roles.join()}`),
    );
  }
  await asSuper(`drop role ${roles.join()}`);
}

test('two databases of a new cluster are migrated at once, and share the roles', async () => {
  for (const edge of ['', 'create role tock_edge nologin']) {
    const urls = await Promise.all(['one', 'two'].map(database));
    expect(await present()).toEqual([]);
    await asSuper(edge);
    const reports = await Promise.all(urls.map((url) => migrate(url)));
    for (const { applied } of reports) expect(applied.length).toBeGreaterThan(5);
    expect(await present()).toEqual(all);
    const granted = await mayCall(urls[0] as string);
    expect(granted).toContainEqual({ may: 'claim tock_admin tock_edge tock_worker' });
    expect(await mayCall(urls[1] as string)).toEqual(granted);
    // Without roles, as before an upgrade to the version that added them: two migrations run at once again.
    await loseRoles(['one', 'two'], ['tock_producer', 'tock_worker', 'tock_admin']);
    await Promise.all(urls.map((url) => migrate(url)));
    expect(await Promise.all(urls.map(mayCall))).toEqual([granted, granted]);
    await dropAll(['one', 'two']);
  }
});

test('a deploy waits longer than its lock timeout for another database that creates the roles', async () => {
  const url = await database('waits');
  await withClient(made.cluster.url(), async (other) => {
    await other.query('begin');
    await other.query('create role tock_edge nologin');
    const lines: string[] = [];
    const log = (line: string) => lines.push(line);
    const directory = process.env.TOCK_SQL_DIRECTORY;
    const migrated = migrateBy(url, { directory, log, lockSeconds: 1 });
    await expect.poll(() => lines.join()).toContain('Another transaction interfered');
    await other.query('commit');
    expect((await migrated).applied.length).toBeGreaterThan(5);
  });
  await dropAll(['waits']);
});

test('a deploy without the right to create roles prints every statement that an administrator must run', async () => {
  const url = await database('three');
  await asSuper('alter role tock nocreaterole');
  const refused = await migrate(url).catch((error: Error) => error.message);
  const statements = String(refused).match(/(create|alter) role .*;/g) ?? [];
  const creating = statements.filter((line) => line.startsWith('create'));
  expect(creating.map((line) => line.split(' ')[2]).sort()).toEqual(all);
  expect(await present()).toEqual([]);
  await asSuper(statements.slice(0, 2).join('\n'));
  await expect(migrate(url)).rejects.toThrow(statements[2]);
  await asSuper(statements.slice(2).join('\n'));
  expect((await migrate(url)).applied.length).toBeGreaterThan(5);
  await asSuper('alter role tock createrole');
  await dropAll(['three']);
});

const bounded = {
  rolconfig: [
    'statement_timeout=30s',
    'lock_timeout=2s',
    'idle_in_transaction_session_timeout=60s',
  ],
};

test('after a restore without the roles, the next deploy creates and grants them', async () => {
  const url = await database('four');
  await migrate(url);
  const before = await mayCall(url);
  const settingsQuery = "select rolconfig from pg_roles where rolname = 'tock_edge'";
  expect(await asSuper(settingsQuery)).toEqual([bounded]);
  await loseRoles(['four'], all);
  expect((await migrate(url)).applied).toEqual([]);
  expect(await mayCall(url)).toEqual(before);
  expect(await asSuper(settingsQuery)).toEqual([bounded]);
});
