import { expect, test } from 'vitest';
import { migrate } from '../../migrate/migrate.ts';
import { checkServer, type Server } from '../../migrate/server.ts';
import { withClient } from '../../scripts/stack/roles.ts';
import { addSql, emptyDatabase, makeSampleSql, sampleFiles } from './sample_sql.ts';

const things = 'migrations/0001_things.sql';
const kernel = 'kernel/things.sql';

test('a failed migration names file, line and cause, and changes nothing', async () => {
  const db = await emptyDatabase();
  const directory = makeSampleSql({
    ...sampleFiles,
    'after_install.sql': '-- one\nselect 1;\n\nselect 1,\n  no_such_column;\n',
  });
  const failed = migrate(db.url, { directory });
  await expect(failed).rejects.toThrow(
    /sql\/after_install\.sql line 5: column "no_such_column" does not exist \(42703\)(.|\n)*Nothing was changed/,
  );
  expect(await db.query("select 1 from pg_namespace where nspname = 'tock'")).toEqual([]);
});

const two = (body: string, language: string) =>
  `-- one\ncreate or replace function tock.two() returns integer\nlanguage ${language} as $$\n${body}\n$$;\n`;

test('an error inside a function, or without a position, names file, line and cause', async () => {
  const db = await emptyDatabase();
  const twice = `${sampleFiles[things]}\ninsert into tock.things\nvalues (1), (1);\n`;
  for (const [file, sql, expected] of [
    [kernel, two('begin\n  return 2 +;\nend', 'plpgsql'), 'line 5: syntax error'],
    [kernel, two('begin\n  return 2;\n  exit;\nend', 'plpgsql'), 'line 6: EXIT cannot be used'],
    [kernel, two('select\n  missing', 'sql'), 'line 5: column "missing" does not exist'],
    [things, twice, 'line 3: duplicate key'],
  ] as const) {
    const directory = makeSampleSql({ ...sampleFiles, [file]: sql });
    await expect(migrate(db.url, { directory })).rejects.toThrow(`sql/${file} ${expected}`);
  }
});

test('a function may call a function of a later file', async () => {
  const db = await emptyDatabase();
  const four =
    'create or replace function tock.four() returns integer language sql as $$ select tock.two() + 2 $$;';
  await migrate(db.url, { directory: makeSampleSql({ ...sampleFiles, 'kernel/four.sql': four }) });
  expect(await db.query('select tock.four()')).toEqual([{ four: 4 }]);
});

test('a file may not end the transaction', async () => {
  const db = await emptyDatabase();
  const directory = makeSampleSql({ [things]: `${sampleFiles[things]}\n/* ; */ Commit;\n` });
  await expect(migrate(db.url, { directory })).rejects.toThrow('line 3: commit is not allowed');
  expect(await db.query("select 1 from pg_namespace where nspname = 'tock'")).toEqual([]);
});

test('an applied migration that was edited is refused by name', async () => {
  const db = await emptyDatabase();
  const directory = makeSampleSql();
  await migrate(db.url, { directory });
  addSql(directory, { [things]: `${sampleFiles[things]}-- edited\n` });
  await expect(migrate(db.url, { directory })).rejects.toThrow(
    `sql/${things} differs from ${things}`,
  );
  addSql(directory, { [things]: sampleFiles[things].replaceAll('\n', '\r\n') });
  expect((await migrate(db.url, { directory })).applied).toEqual([]);
});

test('a database of a newer Tock is refused, and so is a migration numbered too low', async () => {
  const db = await emptyDatabase();
  const newer = makeSampleSql({ ...sampleFiles, 'migrations/0003_more.sql': 'select 1;' });
  await migrate(db.url, { directory: newer });
  await expect(migrate(db.url, { directory: makeSampleSql() })).rejects.toThrow(
    'migrated by a newer Tock: this version does not have sql/migrations/0003_more.sql',
  );
  addSql(newer, { 'migrations/0002_late.sql': 'select 1;' });
  await expect(migrate(db.url, { directory: newer })).rejects.toThrow('0002_late.sql has not been');
});

test('a database from before the baseline is refused, with what to do, and stays as it is', async () => {
  const db = await emptyDatabase();
  const old = {
    'migrations/0001_queues.sql':
      "create table tock.queues (name text); insert into tock.queues values ('q');",
    'migrations/0036_early.sql': 'create table tock.leases ();',
    [kernel]: sampleFiles[kernel],
  };
  await migrate(db.url, { directory: makeSampleSql(old) });
  const state = () =>
    db.query(`
      select m.name, m.checksum, m.applied_at::text, q.name as queue,
        (select string_agg(c.oid::regclass::text, ' ' order by c.oid) from pg_class c where c.relnamespace = n.oid) as tables,
        (select string_agg(p.oid || md5(pg_get_functiondef(p.oid)), ' ') from pg_proc p where p.pronamespace = n.oid) as functions
      from tock.migrations m, tock.queues q, pg_namespace n where n.nspname = 'tock' order by m.number`);
  const before = await state();
  const refused = migrate(db.url);
  await expect(refused).rejects.toThrow(
    'older than the first migration: its migrations begin with migrations/0001_queues.sql',
  );
  await expect(refused).rejects.toThrow('nothing was changed');
  await expect(refused).rejects.toThrow('run "tock uninstall", then migrate again');
  expect(await state()).toEqual(before);
});

test('a missing right to create the schema is reported with the grant', async () => {
  const db = await emptyDatabase();
  await withClient(db.superUrl, (c) => c.query(`alter database ${db.name} owner to postgres`));
  const refused = migrate(db.url, { directory: makeSampleSql() });
  await expect(refused).rejects.toThrow(`grant create on database ${db.name} to tock`);
  await withClient(db.superUrl, (c) => c.query('create schema tock authorization tock'));
  expect((await migrate(db.url, { directory: makeSampleSql() })).applied).toEqual([things]);
});

test("a schema tock that is not Tock's is refused and not changed", async () => {
  const db = await emptyDatabase();
  await withClient(db.superUrl, (c) => c.query('create schema tock'));
  const refused = migrate(db.url, { directory: makeSampleSql() });
  await expect(refused).rejects.toThrow('The schema tock belongs to postgres');
  await withClient(db.superUrl, (c) =>
    c.query('alter schema tock owner to tock; create table tock.clocks ()'),
  );
  await expect(migrate(db.url, { directory: makeSampleSql() })).rejects.toThrow('(clocks)');
});

test('a read-only server, a standby and an old PostgreSQL are refused', async () => {
  const db = await emptyDatabase();
  await db.query(`alter database ${db.name} set default_transaction_read_only = on`);
  await expect(migrate(db.url)).rejects.toThrow('is set to read only');
  const server = { version: 150000, standby: false, read_only: false, database: 'd' } as Server;
  expect(() => checkServer(server)).not.toThrow();
  expect(() => checkServer({ ...server, standby: true, read_only: true })).toThrow('a standby');
  expect(() => checkServer({ ...server, version: 140022 })).toThrow('This is PostgreSQL 14');
});

test('a PostgreSQL that does not answer is named without its password', async () => {
  const failed = migrate('postgres://tock:secret@127.0.0.1:1/app');
  await expect(failed).rejects.toThrow(/^PostgreSQL at 127\.0\.0\.1:1\/app cannot be used/);
  await expect(failed).rejects.not.toThrow('secret');
  await expect(migrate('mysql://x')).rejects.toThrow('not a valid PostgreSQL URL');
});
