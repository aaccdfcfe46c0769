import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import type pg from 'pg';
import { expect, test } from 'vitest';
import { watchBlockers } from '../../migrate/blockers.ts';
import { migrate } from '../../migrate/migrate.ts';
import { emptyDatabase, makeSampleSql, sampleFiles } from './sample_sql.ts';

test('of migrators at once one does the work, the others wait and find it done', async () => {
  const db = await emptyDatabase();
  const reports = await Promise.all([1, 2, 3, 4].map(() => migrate(db.url)));
  const working = reports.filter((report) => report.applied.length > 0);
  expect(working).toHaveLength(1);
  expect(await db.query('select count(*)::integer as n from tock.migrations')).toEqual([
    { n: working[0]?.applied.length },
  ]);
});

test('behind a stuck migrator it gives up and says who holds the lock', async () => {
  const db = await emptyDatabase();
  const stuck = await db.connect();
  await stuck.query("begin; set application_name = 'stuck-deploy'");
  await stuck.query("select pg_advisory_xact_lock(hashtextextended('tock:migrate', 0))");
  const { rows } = await stuck.query('select pg_backend_pid() as pid');
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const failed = migrate(db.url, { directory: makeSampleSql(), log, waitSeconds: 3 });
  await expect(failed).rejects.toThrow(`Blocked by: process ${rows[0].pid} (tock`);
  await expect(failed).rejects.toThrow('stuck-deploy');
  expect(lines.join('\n')).toContain(`Waiting for process ${rows[0].pid}`);
  await stuck.query('rollback');
  expect((await migrate(db.url, { directory: makeSampleSql() })).applied).toHaveLength(1);
});

test('behind an open transaction that reads a table it gives up with everything as it was', async () => {
  const db = await emptyDatabase();
  await migrate(db.url, { directory: makeSampleSql() });
  const reader = await db.connect();
  await reader.query('begin; select from tock.things');
  const directory = makeSampleSql({
    ...sampleFiles,
    'migrations/0002_other.sql': 'create table tock.other ();\n',
    'migrations/0003_wider.sql': 'alter table tock.things add column name text;\n',
  });
  const failed = migrate(db.url, { directory, lockSeconds: 3 });
  await expect(failed).rejects.toThrow(
    /0003_wider\.sql line 1: canceling statement due to lock timeout(.|\n)*Blocked by: process \d+ \(tock.*idle in transaction/,
  );
  expect(await db.query("select to_regclass('tock.other') as other")).toEqual([{ other: null }]);
});

test('a connection that fails while it looks who is in the way is made again, and holds up nothing', async () => {
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
