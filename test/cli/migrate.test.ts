import { expect, test } from 'vitest';
import { readSql } from '../../migrate/files.ts';
import { migrate } from '../../migrate/migrate.ts';
import { cronDatabase, stackInfo } from '../database.ts';
import { addSql, emptyDatabase, makeSampleSql, sampleFiles } from './sample_sql.ts';

test("Tock's own SQL is applied to an empty database by a role without superuser", async () => {
  const db = await emptyDatabase();
  const report = await migrate(db.url);
  const names = readSql().migrations.map((file) => file.name);
  expect(report).toMatchObject({ applied: names, cron: false });
  const rows = await db.query(
    'select name, checksum, (select rolsuper from pg_roles where rolname = current_user) from tock.migrations order by 1',
  );
  expect(rows.map((row) => row.name)).toEqual(names);
  for (const row of rows) expect(row).toMatchObject({ rolsuper: false });
  expect(rows[0]?.checksum).toMatch(/^[0-9a-f]{64}$/);
});

test('migrate advises to revoke the right to connect until it is revoked', async () => {
  const db = await emptyDatabase();
  const directory = makeSampleSql();
  await db.query(`grant connect on database ${db.name} to public`);
  const { advice } = await migrate(db.url, { directory });
  expect(advice).toContain(`revoke connect, temporary on database ${db.name} from public;`);
  await db.query(`grant connect on database ${db.name} to current_user`);
  await db.query(`revoke connect, temporary on database ${db.name} from public`);
  expect(await migrate(db.url, { directory })).toMatchObject({ advice: null });
});

test('only new migrations are applied, functions are replaced each time', async () => {
  const db = await emptyDatabase();
  const directory = makeSampleSql();
  await migrate(db.url, { directory });
  addSql(directory, {
    'migrations/0002_names.sql': 'alter table tock.things add column name text;',
    'kernel/things.sql': sampleFiles['kernel/things.sql'].replace('select 2', 'select 22'),
  });
  const lines: string[] = [];
  const report = await migrate(db.url, { directory, log: (line) => lines.push(line) });
  expect(report.applied).toEqual(['migrations/0002_names.sql']);
  expect(lines).toContain('Applying migrations/0002_names.sql');
  expect(await db.query('select tock.two()')).toEqual([{ two: 22 }]);
});

test('without pg_cron migrate says which jobs do not run', async () => {
  const db = await emptyDatabase();
  const lines: string[] = [];
  const files = { ...sampleFiles, 'cron/10_never.sql': 'select no_such_function();' };
  await migrate(db.url, { directory: makeSampleSql(files), log: (line) => lines.push(line) });
  const output = lines.join('\n');
  expect(output).toContain(`it is not installed in database ${db.name}`);
  for (const word of ['promoting delayed', 'reaping', 'segments ahead', 'purging', 'tock.tick()']) {
    expect(output).toContain(word);
  }
});

// This test may wait: all test files share pg_cron's database, and another file may be waiting there for a job.
test('with pg_cron each job is scheduled once, even after several migrations', async ({ skip }) => {
  if (!stackInfo().cron) skip();
  const db = await cronDatabase();
  try {
    const client = await db.connect();
    expect(await migrate(client)).toMatchObject({ applied: [], cron: true });
    const jobs = "select jobname from cron.job where jobname like 'tock:%' order by 1";
    const before = (await client.query(jobs)).rows;
    expect(before.map((row) => row.jobname)).toContain('tock:reap');
    await migrate(client);
    expect((await client.query(jobs)).rows).toEqual(before);
  } finally {
    await db.drop();
  }
});

test('migrate works through a transaction pooler', async ({ skip }) => {
  const { poolHost, poolPort } = stackInfo();
  if (!poolPort) skip();
  const db = await emptyDatabase();
  const pooled = new URL(db.url);
  pooled.host = `${poolHost}:${poolPort}`;
  expect((await migrate(pooled.href)).applied.length).toBeGreaterThan(0);
  expect((await migrate(pooled.href)).applied).toEqual([]);
});

test('objects that a superuser migrates belong to the owner of the schema', async () => {
  const db = await emptyDatabase();
  const directory = makeSampleSql();
  await migrate(db.url, { directory });
  addSql(directory, { 'migrations/0002_more.sql': 'create table tock.more ();' });
  await migrate(db.superUrl, { directory });
  expect(
    await db.query(
      "select distinct relowner::regrole::text as owner from pg_class where relnamespace = 'tock'::regnamespace",
    ),
  ).toEqual([{ owner: 'tock' }]);
  expect((await migrate(db.url, { directory })).applied).toEqual([]);
});
