import { expect, test } from 'vitest';
import { createSegments } from './kernel/segment/segments.ts';
import { grantedVerbs, plainVerbs } from './roles.ts';
import { client, databasePerFile } from './test_database.ts';
import { rows, value } from './verbs.ts';

databasePerFile();

const schema = "(select oid from pg_namespace where nspname = 'tock')";

/** A test that the catalog query for violations of a rule returns no row. */
function rule(name: string, against: string): void {
  test(name, async () => {
    expect(await rows(client, against)).toEqual([]);
  });
}

rule(
  'every routine that a role may call has a comment in the catalog, and no other has',
  `select proname from pg_proc p where pronamespace = ${schema}
     and (obj_description(oid, 'pg_proc') is null) = exists (select from aclexplode(proacl) a where a.grantee <> p.proowner)`,
);

rule(
  'no routine has an overload',
  `select proname from pg_proc where pronamespace = ${schema}
   group by proname having count(*) > 1`,
);

rule(
  'parameters are named p_ something',
  `select p.proname, a.name from pg_proc p
   cross join lateral unnest(coalesce(p.proargnames, array_fill(''::text, array[p.pronargs::int])))
     with ordinality a(name, n)
   where p.pronamespace = ${schema} and coalesce(p.proargmodes[a.n], 'i') in ('i', 'b', 'v') and a.name not like 'p\\_%'`,
);

rule(
  'PUBLIC can execute no routine and read no table',
  `select p.proname from pg_proc p
   cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
   where p.pronamespace = ${schema} and a.grantee = 0
   union all
   select c.relname from pg_class c cross join lateral aclexplode(c.relacl) a
   where c.relnamespace = ${schema} and a.grantee = 0`,
);

// PostgreSQL searches pg_temp first for tables and types unless the path names it.
rule(
  'a security definer function has the search_path pg_catalog, pg_temp',
  `select p.proname, p.proconfig from pg_proc p
   where p.pronamespace = ${schema} and p.prosecdef
     and not coalesce('search_path=pg_catalog, pg_temp' = any (p.proconfig), false)`,
);

const names = (list: string[]) => `array[${list.map((name) => `'${name}'`).join()}]`;

// This finds a verb without its grant. It also finds an inner function that is security definer.
rule(
  'a verb is security definer or listed as plain, and each security definer function is a verb',
  `select p.proname, p.prosecdef from pg_proc p
   cross join lateral (
     select p.prosecdef or p.proname = any (${names(plainVerbs)}) as verb, exists (
       select from unnest(${names(Object.keys(grantedVerbs).filter((role) => role !== 'outsider'))}) r
       where has_function_privilege(r, p.oid, 'execute')) as called) v
   where p.pronamespace = ${schema} and v.verb <> v.called`,
);

// A caller's own type would bring its operators, which then run with the owner's rights.
rule(
  'no routine takes an argument of a polymorphic type or of type record',
  `select p.proname, t.typname from pg_proc p
   cross join lateral unnest(p.proargtypes::oid[]) a(type) join pg_type t on t.oid = a.type
   where p.pronamespace = ${schema} and (t.typtype = 'p' or t.typname = 'record')`,
);

rule(
  'every table has a primary key',
  `select c.relname from pg_class c
   where c.relnamespace = ${schema} and c.relkind in ('r', 'p')
     and not exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)`,
);

rule(
  'foreign keys are indexed',
  `select k.conname from pg_constraint k
   where k.connamespace = ${schema} and k.contype = 'f' and not exists (
     select from pg_index i where i.indrelid = k.conrelid
       and (i.indkey::int2[])[0:cardinality(k.conkey) - 1] @> k.conkey)`,
);

const bare = `
  with parts as (
    select h.inhparent as parent, h.inhrelid as part from pg_inherits h
    join pg_class c on c.oid = h.inhparent
    where c.relnamespace = ${schema} and c.relkind = 'p'
  ), wanted as (
    select p.part, i.indexrelid as parent_index from parts p join pg_index i on i.indrelid = p.parent
  )
  select w.part::regclass::text, w.parent_index::regclass::text from wanted w
  where not exists (
    select from pg_index i join pg_inherits h on h.inhrelid = i.indexrelid
    where i.indrelid = w.part and h.inhparent = w.parent_index and i.indisvalid)`;

test('every partition has its indexes, also those that create_segments() made', async () => {
  await createSegments(client, 'p_ahead => 4, p_width => 1000');
  expect(await value(client, "select count(*)::int from pg_class where relname = 'runs_5'")).toBe(
    1,
  );
  expect(await rows(client, bare)).toEqual([]);
  const parents = await rows<{ count: number }>(
    client,
    `select count(*)::int from pg_inherits h join pg_class c on c.oid = h.inhparent
     where c.relnamespace = ${schema} and c.relkind = 'p' group by c.oid`,
  );
  expect(new Set(parents.map((row) => row.count))).toEqual(new Set([5]));
});

// Measured on PostgreSQL 15: jsonb_agg() took 11 s for an array of one object with 300,000 keys,
// to_jsonb(array(...)) 0.1 s.
rule(
  'jsonb_agg never aggregates tasks with their payloads',
  `select p.proname from pg_proc p
   where p.pronamespace = ${schema}
     and p.proname in ('own_tasks', 'with_trace', 'without_trace', 'append_unique', 'spawn_parts', 'fire_all')
     and p.prosrc ~ 'jsonb_agg\\((case|r\\.task|p\\.task|v_tasks|tock\\.task)'`,
);

// A lease begins one position before its first run, so the partitions of leases begin one position lower.
test('segments follow each other without a gap, and their tables cover exactly them', async () => {
  const segments = await rows<{ number: number; first: string; end: string; gap: string }>(
    client,
    `select e.number, e.first_position as first, e.end_position as end,
       e.first_position - lag(e.end_position, 1, 0) over (order by e.number) as gap
     from tock.segments e order by e.number`,
  );
  for (const { number, first, end, gap } of segments) {
    expect(gap).toBe('0');
    const tables = { runs: 0n, results: 0n, run_overrides: 0n, steps: 0n, leases: 1n };
    for (const [table, less] of Object.entries(tables)) {
      const [part] = await rows(
        client,
        `select pg_get_expr(c.relpartbound, c.oid) as bounds from pg_class c
         where c.oid = to_regclass($1)`,
        [`tock.${table}_${number}`],
      );
      const bounds = `FOR VALUES FROM ('${BigInt(first) - less}') TO ('${BigInt(end) - less}')`;
      expect(part).toEqual({ bounds });
    }
  }
});

test('positions are assigned one by one: the sequence has no cache and does not cycle', async () => {
  const [sequence] = await rows(
    client,
    "select seqcache, seqincrement, seqcycle from pg_sequence where seqrelid = 'tock.positions'::regclass",
  );
  expect(sequence).toEqual({ seqcache: '1', seqincrement: '1', seqcycle: false });
});
