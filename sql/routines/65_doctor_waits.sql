-- Who is held up is on record with its watch, so tasks whose parents are at work cost nothing here, however many wait.
create or replace function tock.doctor_of_parents()
returns table (finding text, severity text, detail text, hint text)
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_stream integer := 0;
  v_position bigint := 0;
  v_parent tock.found_run;
  v_children bigint[];
  v_found integer := 0;
begin
  for v_look in 1 .. 100 loop
    select x.stream, x.position into v_stream, v_position from tock.watches x
    where x.held_up and (x.stream, x.position) > (v_stream, v_position)
    order by x.stream, x.position limit 1;
    exit when not found or v_found = 5;
    v_children := array(
      select coalesce(w.task_id, w.position << 20)
      from (
        select x.child from tock.watches x
        where x.held_up and x.stream = v_stream and x.position = v_position limit 1000) x
      join tock.waiting w on w.position = x.child and w.after_due is not null);
    v_parent := tock.run_at(v_position << 20 | v_stream);
    continue when v_children = '{}' or v_parent.task_id is null;
    v_found := v_found + 1;
    return query select 'tasks wait for one that ended otherwise', 'warning',
      pg_catalog.format('%s until task %s of queue %s, which is %s, is run again and done%s',
        case pg_catalog.cardinality(v_children) when 1 then pg_catalog.format('task %s waits', v_children[1])
          else pg_catalog.format('%s%s tasks, %s among them, wait', case pg_catalog.cardinality(v_children) when 1000 then 'at least ' end,
            pg_catalog.cardinality(v_children), v_children[1]) end,
        v_parent.task_id, v_parent.queue, (tock.ends_of(array[v_parent.task_id], null)).state, (
          select pg_catalog.format('; the parents of task %s: %s', v_children[1], p.said)
          from (
            select array(select a::bigint from pg_catalog.jsonb_array_elements_text(t.options -> 'after') a) as ids
            from tock.task(v_children[1]) t) i
          cross join lateral tock.parents_counted(i.ids) p where pg_catalog.cardinality(i.ids) > 1)),
      pg_catalog.format('tock rerun %1$s, or select * from tock.rerun(array[%1$s]); to give up one that waits: tock cancel %2$s',
        v_parent.task_id, v_children[1]);
  end loop;
  return query select * from tock.finding_of_left_behind(tock.left_behind());
end $$;

comment on function tock.doctor_of_parents is
  'What doctor() says of tasks with on_parent_failure wait whose parent died, was cancelled or expired: of up to five parents, up to 1,000 tasks each.';

create or replace function tock.finding_of_left_behind(p_children bigint[])
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  select 'tasks wait though their parents have ended', 'warning',
    pg_catalog.format('%s that nothing has told so, and task %s among them looks at its parents again at %s',
      tock.some_tasks(pg_catalog.cardinality(p_children), 'waits', 'wait'), coalesce(w.task_id, w.position << 20),
      pg_catalog.to_char(w.due_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    'the sweep of the duty promote finds such tasks: see with tock duties that it is done; select tock.promote(1000, true) does it now'
  from tock.waiting w where w.position = p_children[1]
$$;

comment on function tock.finding_of_left_behind is 'What doctor() and why() say of children that left_behind() found.';

-- A worker that has not joined is in no place between two tasks: so what nobody takes is looked at three times, and
-- whoever has taken in between has taken the oldest.
create or replace function tock.deserted_pools()
returns setof tock.places
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_oldest tock.places[];
begin
  v_oldest := array(
    with recursive every (pool, n) as (
      (select p.pool, 1 from tock.places p where p.worker is null order by p.pool limit 1)
      union all
      select (select p.pool from tock.places p where p.worker is null and p.pool > e.pool order by p.pool limit 1), e.n + 1
      from every e where e.pool is not null and e.n < 1000)
    select tock.oldest_in_line(e.pool) from every e where e.pool is not null);
  for v_look in 1 .. 3 loop
    v_oldest := array(
      select o from unnest(v_oldest) o
      where o.since < pg_catalog.clock_timestamp() - interval '10 minutes'
        and o.number = (tock.oldest_in_line(o.pool)).number and not tock.somebody_works(o.pool));
    exit when pg_catalog.cardinality(v_oldest) = 0;
    perform pg_catalog.pg_sleep(0.05);
  end loop;
  return query select * from unnest(v_oldest);
end $$;

comment on function tock.deserted_pools is 'The oldest tasks of pools, among the first 1,000, where it has waited for over ten minutes while no worker holds any.';

create or replace function tock.oldest_in_line(p_pool text)
returns tock.places
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_start bigint := tock.line_start(p_pool, 'waiting');
  v_place tock.places;
begin
  select p.* into v_place from tock.places p
  where p.pool = p_pool and p.worker is null and p.turn >= v_start
  order by p.pool, p.turn limit 1;
  return v_place;
end $$;

comment on function tock.oldest_in_line is 'The task that has waited for longest in a pool, as take() reads them, and locks nothing.';

create or replace function tock.somebody_works(p_pool text)
returns boolean
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  return exists (
    select from (
      select p.task, p.leased_until from tock.places p
      where p.pool = p_pool and p.worker is not null order by p.pool, p.worker limit 1000) w
    where w.task is not null and w.leased_until > pg_catalog.clock_timestamp());
end $$;

comment on function tock.somebody_works is 'Whether one of a pool''s workers, among the first 1,000 by name, holds a task.';

-- The duty looks at each within ten seconds: who is past its end for as long as a duty may be late was not looked at.
create or replace function tock.left_behind_in(p_pool text)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_late timestamptz := pg_catalog.clock_timestamp() - (select 3 * d.every_seconds + 120 from tock.duties d where d.name = 'pools')
    * interval '1 second';
begin
  return (
    select count(*) from (
      select p.leased_until from tock.places p
      where p.pool = p_pool and p.look_at < v_late order by p.pool, p.look_at limit 1000) l
    where l.leased_until < v_late);
end $$;

comment on function tock.left_behind_in is 'How many workers of a pool, of the first 1,000 to be looked at, are past their end and have not been let go.';

create or replace function tock.doctor_of_pools()
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
  with recursive every (pool, n) as (
    (select p.pool, 1 from tock.places p where p.look_at < 'infinity' order by p.pool limit 1)
    union all
    select (select p.pool from tock.places p where p.look_at < 'infinity' and p.pool > e.pool order by p.pool limit 1), e.n + 1
    from every e where e.pool is not null and e.n < 1000
  ), late as (
    select e.pool, tock.left_behind_in(e.pool) as workers from every e where e.pool is not null)
  (select 'nobody takes from a pool', 'warning',
    pg_catalog.format('task %s of pool %s has waited since %s, and no worker of the pool holds any', d.task, d.pool,
      pg_catalog.to_char(d.since at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
    pg_catalog.format('a worker that has joined has to take as well: tock pool take %s WORKER; to take the task out: select tock.unassign(%L, %L)',
      d.pool, d.pool, d.task)
  from tock.deserted_pools() d order by d.since limit 5)
  union all
  select 'workers that have vanished are not let go', 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s%s of pool %s', case when l.workers = 1000 then 'at least ' end, l.workers, l.pool), ', ' order by l.pool),
    'select tock.run_duty(''pools''), and see in tock.duties why it was not done'
  from late l where l.workers > 0
  having count(*) > 0
$$;

comment on function tock.doctor_of_pools is
  'What doctor() says of pools, the first 1,000: where a task waits and nobody takes, and whose workers are past their end for longer than the duty should need.';
