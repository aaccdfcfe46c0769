import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { watchBlockers } from '../../migrate/blockers.ts';
import { migrate } from '../../migrate/migrate.ts';
import { emptyDatabase, makeSampleSql, sampleFiles } from './sample_sql.ts';

test('of concurrent migrators one migrates, and the others wait and find nothing to do', async () => {
  const db = await emptyDatabase();
  const reports = await Promise.all([1, 2, 3, 4].map(() => migrate(db.url)));
  const working = reports.filter((report) => report.applied.length > 0);
  expect(working).toHaveLength(1);
  expect(await db.query('select count(*)::integer as n from tock.migrations')).toEqual([
    { n: working[0]?.applied.length },
  ]);
});

test('a migrator that waits too long for another one fails and names its session', async () => {
  const db = await emptyDatabase();
  const stuck = await db.connect();
  await stuck.query("begin; set application_name = 'stuck-deploy'");
  await stuck.query("select pg_advisory_xact_lock(hashtextextended('tock:migrate', 0))");
  const { rows } = await stuck.query('select pg_backend_pid() as pid');
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const failed = migrate(db.url, { directory: makeSampleSql(), log, waitSeconds: 8 });
  await expect(failed).rejects.toThrow(`Blocked by: process ${rows[0].pid} (tock`);
  await expect(failed).rejects.toThrow('stuck-deploy');
  expect(lines.join('\n')).toContain(`Waiting for process ${rows[0].pid}`);
  await stuck.query('rollback');
  expect((await migrate(db.url, { directory: makeSampleSql() })).applied).toHaveLength(1);
});

test("a migrator that waits too long for a table's lock fails and changes nothing", async () => {
  const db = await emptyDatabase();
  await migrate(db.url, { directory: makeSampleSql() });
  const reader = await db.connect();
  await reader.query('begin; select from tock.things');
  const directory = makeSampleSql({
    ...sampleFiles,
    'migrations/0002_other.sql': 'create table tock.other ();\n',
    'migrations/0003_wider.sql': 'alter table tock.things add column name text;\n',
  });
  const failed = migrate(db.url, { directory, lockSeconds: 8 });
  await expect(failed).rejects.toThrow(
    /0003_wider\.sql line 1: canceling statement due to lock timeout(.|\n)*Blocked by: process \d+ \(tock.*idle in transaction/,
  );
  expect(await db.query("select to_regclass('tock.other') as other")).toEqual([{ other: null }]);
});

test('a broken connection of the check for blockers is replaced and delays nothing', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const watch = watchBlockers(
    { host: '127.0.0.1', port, user: 'tock', database: 'tock' } as pg.Client,
    1,
  );
  for (let connections = 0; connections < 2; connections++) await once(server, 'connection');
  await watch.stop();
  server.close();
});

test('a connection in the middle of a transaction is refused', async () => {
  const db = await emptyDatabase();
  const client = await db.connect();
  await client.query('begin');
  await expect(migrate(client)).rejects.toThrow('in a transaction');
  await client.query('rollback');
});
