import { expect, test } from 'vitest';
import { createSegments } from './kernel/segment/segments.ts';
import { grantedVerbs, members, membersPerFile, outcomes, routines } from './roles.ts';
import { db, client as owner } from './test_database.ts';
import { claim, complete, enqueue, leaseOf, numberedTasks, rows } from './verbs.ts';

membersPerFile();

const byName = (names: string[]) => [...names].sort();

test('each role calls every routine: its verbs run, all others are refused', async () => {
  const all = await routines(owner);
  expect(all.length).toBeGreaterThan(60);
  for (const { role, client } of members) {
    const calls = all.map((verb) => verb.call);
    const codes = await outcomes(client, calls);
    // Another code of class 42 would mean that the call itself was wrong, so nothing was tested.
    expect(codes.filter((code) => code?.startsWith('42') && code !== '42501')).toEqual([]);
    expect(all.filter((_, n) => codes[n] === '57014')).toEqual([]);
    const letIn = all.filter((_, n) => codes[n] !== '42501').map((verb) => verb.name);
    expect(byName(letIn), role).toEqual(byName(grantedVerbs[role] ?? []));
  }
});

test('no role can read, write or lock a table or sequence', async () => {
  await createSegments(owner, 'p_ahead => 4, p_width => 1000');
  const columns = await rows<{ name: string; kind: string; column: string }>(
    owner,
    `select format('tock.%I', c.relname) as name, c.relkind as kind, quote_ident(a.attname) as column
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum = 1
     where c.relnamespace = 'tock'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
       and c.relname <> 'findings'`, // doctor.test.ts
  );
  expect(columns.length).toBeGreaterThan(20);
  const ways = columns.flatMap(({ name, kind, column }) =>
    kind === 'S'
      ? [
          `select * from ${name}`,
          `select nextval('${name}')`,
          `select currval('${name}')`,
          `select setval('${name}', 1)`,
          `alter sequence ${name} cache 50`,
        ]
      : [
          `select from ${name}`,
          `select ${column} from ${name} where false`,
          `insert into ${name} default values`,
          `update ${name} set ${column} = default`,
          `delete from ${name} where false`,
          `truncate ${name}`,
          `lock ${name} in access share mode`,
          `copy ${name} to stdout`,
          `create temporary table mine (like ${name})`,
          `create index on ${name} (${column})`,
          `create trigger mine before insert on ${name} execute function suppress_redundant_updates_trigger()`,
          `alter table ${name} add column mine integer`,
          `comment on table ${name} is 'mine'`,
          `grant select on ${name} to public`,
          `drop table ${name}`,
        ],
  );
  for (const { role, client } of members) {
    const codes = await outcomes(client, ways);
    const went = ways.filter((_, n) => codes[n] !== '42501');
    expect(went, role).toEqual([]);
  }
});

test('no role makes, changes or drops anything in the schema', async () => {
  const ways = [
    'create table tock.mine (id integer)',
    'create view tock.mine as select 1',
    'create sequence tock.mine',
    'create type tock.mine as (id integer)',
    "create function tock.mine() returns integer language sql as 'select 1'",
    "create or replace function tock.current_segment() returns integer language sql as 'select 1'",
    'create operator tock.= (leftarg = text, rightarg = text, function = texteq)',
    'alter function tock.current_segment() security definer',
    'alter function tock.tick() set search_path = public',
    'alter type tock.ending add attribute mine integer',
    'grant execute on function tock.current_segment() to public',
    'alter default privileges in schema tock grant execute on functions to public',
    'drop function tock.current_segment()',
    'alter schema tock rename to mine',
    'drop schema tock',
    'set local role tock',
    'set local session authorization tock',
  ];
  for (const { role, client } of members) {
    const codes = await outcomes(client, ways);
    // A role may alter its own default privileges. They matter only for objects that it could create here.
    const went = ways.filter((way, n) => codes[n] !== '42501' && !way.startsWith('alter default'));
    expect(went, role).toEqual([]);
  }
});

test('a task can be enqueued, claimed and completed through a transaction pooler', async () => {
  if (!db.poolUrl) return;
  const pooled = await Promise.all(Array.from({ length: 6 }, () => db.connect(db.poolUrl)));
  await Promise.all(
    pooled.map((connection, n) => enqueue(connection, 'pooled', numberedTasks(20, n * 20))),
  );
  const seen = await Promise.all(
    pooled.map(async (connection) => {
      const ids: unknown[] = [];
      for (;;) {
        const runs = await claim(connection, 'pooled', { limit: 3 });
        if (runs.length === 0) return ids;
        ids.push(...runs.map((run) => run.payload));
        await complete(connection, leaseOf(runs));
      }
    }),
  );
  expect(new Set(seen.flat()).size).toBe(120);
  expect(seen.flat()).toHaveLength(120);
});
