import { listed, payload } from '../payload.ts';
import type { System } from '../types.ts';

const users = 1000;

// The functions of the seed, except that an insert has a batch of one user's tasks, and payloads are returned.
const functions = `
create function ins_task_init(uid int, info text, ts timestamp) returns void language plpgsql strict as $$
declare
  target name;
begin
  target := format('%I', 'task_init_' || uid);
  execute format('insert into %I (uid, info, ts) values (%L, %L, %L)', target, uid, info, ts);
end $$;

create function ins_task_init(uid int, infos text[], ts timestamp) returns void language plpgsql strict as $$
declare
  target name;
begin
  target := format('%I', 'task_init_' || uid);
  execute format('insert into %I (uid, info, ts) select %s, i, %L from unnest($1) i', target, uid, ts)
    using infos;
end $$;

create function run_task(uid int, batch int) returns setof text language plpgsql strict as $$
declare
  target1 name;
  target2 name;
begin
  target1 := format('%I', 'task_init_' || uid);
  target2 := format('%I', 'task_hist_' || uid);
  return query execute format('with t1 as (select ctid from %I where pg_try_advisory_xact_lock(%L) limit %s),
    t2 as (delete from %I where ctid = any (array(select ctid from t1)) returning *),
    t3 as (insert into %I select * from t2)
    select info from t2', target1, uid, batch, target1, target2);
end $$;

create function done() returns bigint language plpgsql as $$
declare
  v_sum bigint := 0;
  v_count bigint;
begin
  for v_user in 1 .. ${users} loop
    execute format('select count(*) from task_hist_%s', v_user) into v_count;
    v_sum := v_sum + v_count;
  end loop;
  return v_sum;
end $$`;

const tables = ['init', 'hist'].map(
  (kind) => `create table task_${kind} (uid int, ptid ${kind === 'init' ? 'serial8' : 'int8'},
    tid ${kind === 'init' ? 'serial' : 'int'}, state int default 1, retry int default -1, info text, ts timestamp);`,
);

const escaped = (text: string) => `"${text.replaceAll('"', '\\"')}"`;

/** The design of the seed massive-task-scheduling: its thousand users are a thousand pairs of tables. */
export const perUserTables: System = {
  name: 'per-user tables',
  version: 'our writing of the seed massive-task-scheduling',
  settings: [
    `${users} users with two tables each, a random one a call; not vacuumed between windows`,
    'enqueue: one insert a call, of one user; the payload is text that nothing parses',
    'claim + complete in one step: deleted, put into history and returned by one statement',
  ],
  lacks: [
    'no lease: a worker that dies loses what it took',
    'no retry',
    'one call takes one user’s tasks',
    'no index, so no task can be looked up',
  ],
  upkeep: 'select 1',
  // A randomly chosen table should rarely have fewer tasks than a call takes.
  least: ({ batch }) => users * batch,
  async prepare({ client }) {
    await client.query(tables.join('\n'));
    for (let from = 1; from <= users; from += 100) {
      await client.query(`do $$ begin for i in ${from} .. ${from + 99} loop
        execute format('create table task_init_%s (like task_init including all) with (autovacuum_enabled = off)', i);
        execute format('create table task_hist_%s (like task_hist including all)', i);
      end loop; end $$`);
    }
    await client.query(functions);
  },
  async fill({ client }, tasks, { bytes }) {
    await client.query(
      `select count(ins_task_init(u, array_fill($1::text, array[$2::integer]), now()::timestamp))
       from generate_series(1, ${users}) u`,
      [payload(bytes), Math.ceil(tasks / users)],
    );
  },
  enqueue({ batch, bytes }) {
    const uid = `\\set uid random(1, ${users})`;
    const { set, text } = listed(batch, escaped(payload(bytes)), ['{', '}']);
    const info = batch === 1 ? `'${payload(bytes)}'::text` : `${text}::text[]`;
    const call = `select ins_task_init(:uid, ${info}, now()::timestamp);`;
    return { by: 'pgbench', script: `${uid}\n${set}\n${call}\n` };
  },
  cycle: ({ batch }) => ({
    by: 'pgbench',
    script: `\\set uid random(1, ${users})\nselect * from run_task(:uid, ${batch});\n`,
  }),
  async counts({ client }) {
    const { rows } = await client.query(
      'select (select last_value from task_init_ptid_seq) as enqueued, done() as finished',
    );
    return { enqueued: Number(rows[0].enqueued), finished: Number(rows[0].finished) };
  },
};
