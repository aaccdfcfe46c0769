import type pg from 'pg';
import { expect, test } from 'vitest';
import { createSegments } from './kernel/segment/segments.ts';
import { grantedVerbs, memberOf, members, membersPerFile } from './roles.ts';
import { db, client as owner } from './test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  extend,
  fail,
  leaseOf,
  numberedTasks,
  release,
  rows,
  task,
  value,
} from './verbs.ts';

membersPerFile();

/** A task's life by the verbs that the role may call; the owner calls the other verbs. */
async function life(client: pg.Client, role: string, queue: string): Promise<void> {
  const may = (verb: string) => grantedVerbs[role]?.includes(verb);
  const source = may('enqueue') ? client : owner;
  const delayed = numberedTasks(1, 9, { run_at: '2030-01-31T09:00:00Z', tenant: 'a' });
  const ids = await enqueue(source, queue, [...numberedTasks(8), ...delayed], 'again');
  expect(await enqueue(source, queue, [...numberedTasks(8), ...delayed], 'again')).toEqual(ids);
  const runAt = 'select extract(epoch from run_at)::bigint from tock.task(p_id => $1)';
  expect(await value(client, runAt, [ids[8]])).toBe('1896080400');
  const changes: [call: string, n: number, state: string][] = [
    ['reprioritize(p_ids => $1, p_priority => 9)', 7, 'ready'],
    ["reschedule(p_ids => $1, p_run_at => '2030-01-31')", 7, 'ready'],
    [`change(p_ids => $1, p_changes => '{"payload": 7, "delay_seconds": 60}')`, 8, 'waiting'],
    ['cancel(p_ids => $1)', 6, 'cancelled'],
  ];
  for (const [call, n, state] of changes) {
    const changed = await rows(source, `select state, changed from tock.${call}`, [[ids[n]]]);
    expect(changed).toEqual([{ state, changed: true }]);
  }
  const worker = may('claim') ? client : owner;
  const lease = leaseOf(await claim(worker, queue, { limit: 6, request_id: 'once' }));
  expect((await extend(worker, lease, 600))?.runs).toBe(6);
  const failure = { id: ids[0], retry_in_seconds: 900 };
  expect(await fail(worker, lease, [failure])).toMatchObject({ failed: 1 });
  expect(await release(worker, lease, [ids[1] as string])).toMatchObject({ released: 1 });
  const result = { id: ids[2], result: 'a' };
  expect(await complete(worker, lease, [result])).toMatchObject({ completed: 1 });
  expect(await complete(worker, lease)).toMatchObject({ completed: 4 });
  expect(await drain(worker, queue)).toHaveLength(1);
  await worker.query('select tock.next_wake_at(), tock.claim_state(array[$1])', [queue]);
  expect((await task(client, ids[3] as string))?.state).toBe('done');
  if (may('put_queue')) {
    await client.query('select tock.put_queue(p_queue => $1)', [queue]);
    for (const call of [
      'queue_stats()',
      'doctor()',
      "create_key(p_name => 'k', p_scopes => '{read}')",
    ])
      await client.query(`select * from tock.${call}`);
    expect(await value(client, 'select tock.erase(p_id => $1)', [ids[3]])).toBeGreaterThan(0);
    await client.query('select tock.tick()');
  }
  if (may('run_maintenance')) {
    const names = await rows<{ name: string }>(owner, 'select name from tock.maintenance_jobs');
    for (const { name } of names) {
      expect(await value(client, 'select tock.run_maintenance($1)', [name]), name).not.toBe(null);
    }
  }
}

/** Temporary functions, tables and types with the names that verbs use. Each raises an error when it is used. */
const traps = `
  set search_path = pg_catalog, pg_temp;
  create function pg_temp.sprung(anyelement) returns boolean language plpgsql as $f$
  begin
    raise exception 'sprung as %', current_user;
  end $f$;
  do $$
  declare
    v_name text;
  begin
    for v_name in
      select format('%I.%I', 'pg_catalog', t.typname) from pg_catalog.pg_type t
      where t.typname in ('text', 'int2', 'int4', 'int8', 'bool', 'float8', 'numeric', 'json', 'jsonb', 'uuid',
        'timestamptz', 'interval', 'bit', 'name', 'oid', 'regnamespace', 'regclass', 'bytea')
    loop
      execute format('create domain pg_temp.%I as %s check (pg_temp.sprung(value))', split_part(v_name, '.', 2), v_name);
    end loop;
    for v_name in select unnest(array['now', 'clock_timestamp', 'random', 'pg_backend_pid', 'gen_random_uuid'])
    loop
      execute format('create function pg_temp.%I() returns boolean language sql as ''select pg_temp.sprung(1)''', v_name);
    end loop;
    for v_name in
      select unnest(array['queues', 'streams', 'segments', 'runs', 'leases', 'results', 'run_overrides', 'waiting', 'promotions',
        'requests', 'maintenance_jobs', 'record_key_uses', 'migrations', 'reports', 'positions', 'pg_proc', 'pg_class', 'pg_locks',
        'pg_database', 'pg_stat_activity', 'pg_extension', 'pg_sequence', 'pg_namespace', 'one', 'candidate'])
    loop
      execute format('create view pg_temp.%I as select pg_temp.sprung(1::pg_catalog.int4)', v_name);
    end loop;
  end $$;
  create operator pg_temp.= (leftarg = pg_catalog.text, rightarg = pg_catalog.text, function = pg_catalog.textne);
  set search_path = pg_temp, tock, pg_catalog`;

test("no verb uses objects of the caller's temporary schema", async () => {
  for (const { role, client } of members.slice(0, 4)) {
    await client.query('begin');
    await client.query(traps);
    expect(
      await value(client, 'select exists (select from pg_temp.sprung(1::pg_catalog.int4))').catch(
        (e) => e.message,
      ),
    ).toContain(`sprung as test_`);
    await client.query('rollback');
    await client.query(traps);
    await life(client, role, `trap-${role}`);
    await client.query('discard all');
  }
});

// The settings of one session must not stay in functions that all sessions call.
test("a session's settings change no result, in that session or in later ones", async () => {
  const { client } = memberOf('tock_admin');
  await client.query(`
    set standard_conforming_strings = off; set escape_string_warning = off; set backslash_quote = off;
    set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kathmandu'; set intervalstyle = 'sql_standard';
    set bytea_output = escape; set extra_float_digits = -3; set lc_numeric = 'C'; set array_nulls = off;
    set transform_null_equals = on; set quote_all_identifiers = on; set check_function_bodies = off;
    set plan_cache_mode = force_custom_plan;
    set enable_indexscan = off; set enable_nestloop = off; set cursor_tuple_fraction = 0;
    set tock.slot = '999'`);
  await owner.query('update tock.maintenance_jobs set last_started_at = null');
  await owner.query(
    "select setval('tock.positions', (select max(end_position) - 2 from tock.segments))",
  );
  await createSegments(client, 'p_width => 1000');
  await enqueue(owner, 'crossing', numberedTasks(10));
  await createSegments(client, 'p_width => 1000');
  await createSegments(client);
  // The verbs' patterns contain backslashes, so with standard_conforming_strings off a verb refuses valid instants.
  await client.query('set standard_conforming_strings = on');
  await life(client, 'tock_admin', 'odd');
  await life(owner, 'tock_admin', 'even');
  const other = await db.connect();
  await other.query("set datestyle = 'ISO, MDY'; set timezone = 'UTC'");
  await life(other, 'tock_admin', 'other');
  expect(await value(other, 'select tock.current_segment()')).toBe(
    await value(other, 'select tock.newest_segment()'),
  );
});

const open = `
  select distinct 'function ' || p.oid::regprocedure as opened from pg_proc p
  cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
  where p.pronamespace = 'tock'::regnamespace and a.grantee = 0
  union all
  select distinct 'table ' || c.oid::regclass from pg_class c
  cross join lateral aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
  where c.relnamespace = 'tock'::regnamespace and (a.grantee = 0 or r.rolname like 'tock\\_%')
    -- tock_admin may read this view: doctor.test.ts
    and (c.relname = 'findings' and r.rolname = 'tock_admin' and a.privilege_type = 'SELECT') is not true`;

test('objects made between two deploys grant no more rights than those of a deploy', async () => {
  await owner.query(`
    alter default privileges in schema tock grant select on tables to public;
    alter default privileges in schema tock grant all on tables to tock_producer, tock_worker, tock_admin, tock_edge;
    alter default privileges in schema tock grant execute on functions to public`);
  const hot = await rows<{ drop: string }>(
    owner,
    `select 'drop function ' || p.oid::regprocedure as drop from pg_proc p
     where p.pronamespace = 'tock'::regnamespace and p.proname like '%\\_current' and p.proname <> 'compile_current'`,
  );
  expect(hot.length).toBeGreaterThan(3);
  // A new function would be executable by PUBLIC; a replaced one would keep its rights.
  for (const { drop } of hot) await owner.query(drop);
  const newest = 'select max(number) from tock.segments';
  const before = await value<number>(owner, newest);
  await owner.query(
    'select tock.compile_current(), tock.create_segments(p_ahead => 5, p_width => 1000)',
  );
  expect(await value<number>(owner, newest)).toBeGreaterThan(before);
  expect(await rows(owner, open)).toEqual([]);
});

test('a lease is open only to a caller with its token, and a guessed token does not work', async () => {
  const worker = memberOf('tock_worker').client;
  await enqueue(owner, 'leased', numberedTasks(2));
  const lease = leaseOf(await claim(owner, 'leased', { limit: 2 }));
  const guess = `00000000-0000-4000-8000-00000${lease.slice(-7)}`;
  expect(await complete(worker, guess)).toBeUndefined();
  expect(await fail(worker, guess, {})).toBeUndefined();
  expect(await release(worker, guess)).toBeUndefined();
  expect(await extend(worker, guess)).toBeUndefined();
  expect(await complete(worker, lease)).toMatchObject({ completed: 2 });
});
