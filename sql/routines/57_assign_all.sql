-- One statement a step for all of them. Tasks that have a place already, and are not simply held, go one by one.
-- Inserted in order of their names, so that two calls with the same tasks can't wait for each other.
create or replace function tock.assign_all(p_pool text, p_tasks text[], p_lease_seconds integer default null)
returns table (task text, state text, worker text, fence bigint, leased_until timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_new text[];
  v_task text;
  v_pairs bigint[] := '{}';
begin
  perform tock.check_place(p_pool, '-', '-', p_lease_seconds);
  perform tock.check_tasks(p_tasks, 10000);
  v_new := array(
    select t.task from unnest(p_tasks) with ordinality t(task, n)
    where tock.is_nowhere(p_pool, t.task) group by t.task order by min(t.n));
  if pg_catalog.cardinality(v_new) > 0 then
    v_pairs := tock.pair_all(p_pool, v_new, p_lease_seconds);
  end if;
  for v_task in select distinct t.task from unnest(p_tasks) t(task) where t.task <> all (v_new) order by 1 loop
    v_pairs := v_pairs || array(
      select a.fence from tock.assign(p_pool, v_task, p_lease_seconds => p_lease_seconds) a where a.state = 'assigned');
  end loop;
  return query
    select t.task, case when p.number is null then 'none' when p.worker is null then 'waiting'
        when p.number = any (v_pairs) then 'assigned' else 'held' end,
      p.worker, case when p.worker is not null then p.number end, nullif(p.leased_until, 'infinity')
    from unnest(p_tasks) with ordinality t(task, n)
    cross join lateral tock.place_of_task(p_pool, t.task) p
    order by t.n;
end $$;

comment on function tock.assign_all is
  'As assign(), for up to 10,000 tasks at once: each gets a free worker of its own while there are any. In the order given; states assigned, held, waiting and none.';

create or replace function tock.check_tasks(p_tasks text[], p_most integer)
returns void
language plpgsql
immutable
as $$
declare
  v_wrong bigint;
begin
  if not coalesce(pg_catalog.cardinality(p_tasks) between 1 and p_most and pg_catalog.array_ndims(p_tasks) = 1, false) then
    perform tock.refuse(422, pg_catalog.format('tasks are 1 to %s names', p_most), 'tasks');
  end if;
  v_wrong := (
    select t.n from unnest(p_tasks) with ordinality t(task, n)
    where not coalesce(pg_catalog.length(t.task) between 1 and 200, false) order by t.n limit 1);
  if v_wrong is not null then
    perform tock.refuse(422, 'a task is 1 to 200 characters', pg_catalog.format('tasks[%s]', v_wrong - 1));
  end if;
end $$;

comment on function tock.check_tasks is 'Raises TK422 for what can''t be a list of tasks.';

create or replace function tock.is_nowhere(p_pool text, p_task text)
returns boolean
language plpgsql
volatile
as $$
begin
  return (select p.number from tock.places p where p.pool = p_pool and p.task = p_task) is null;
end $$;

comment on function tock.is_nowhere is 'Whether a pool doesn''t know a task.';

-- As pair(), of which it keeps the order: lock, delete, insert, put back.
create or replace function tock.pair_all(p_pool text, p_tasks text[], p_lease_seconds integer)
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_free tock.places[] := tock.free_workers(p_pool, pg_catalog.cardinality(p_tasks));
  v_numbers bigint[];
  v_workers text[];
begin
  delete from tock.places p where p.number = any (array(select f.number from unnest(v_free) f));
  with pairs as (
    insert into tock.places (number, pool, worker, task, joined, lease_seconds, leased_until, look_at)
    select pg_catalog.nextval('tock.place_numbers'), p_pool, o.worker, o.task, true, o.seconds,
      v_now + o.seconds * interval '1 second', v_now + o.seconds * interval '1 second'
    from (
      select f.worker, t.task, coalesce(p_lease_seconds, f.lease_seconds) as seconds
      from unnest(v_free) with ordinality f
      join unnest(p_tasks) with ordinality t(task, n) on t.n = f.ordinality
      order by t.task) o
    on conflict do nothing
    returning number, worker)
  select coalesce(pg_catalog.array_agg(p.number), '{}'), coalesce(pg_catalog.array_agg(p.worker), '{}')
    into v_numbers, v_workers from pairs p;
  if pg_catalog.cardinality(v_workers) < pg_catalog.cardinality(v_free) then
    insert into tock.places select f.* from unnest(v_free) f where f.worker <> all (v_workers) on conflict do nothing;
  end if;
  if pg_catalog.cardinality(v_numbers) > pg_catalog.random() * 16 then
    insert into tock.line_marks (pool, line, number, reached) values (p_pool, 'free', v_numbers[1], v_free[1].turn);
  end if;
  return v_numbers;
end $$;

comment on function tock.pair_all is 'Gives each task a free worker, as far as there are any; the fences of those that it paired.';

create or replace function tock.free_workers(p_pool text, p_limit integer)
returns tock.places[]
language plpgsql
volatile
as $$
declare
  v_start bigint := tock.line_start(p_pool, 'free');
  v_free tock.places[];
begin
  for v_step in 1 .. 1000 loop
    v_free := array(
      select p::tock.places from tock.places p
      where p.pool = p_pool and p.task is null and p.turn >= v_start
      order by p.pool, p.turn limit p_limit for update skip locked);
    if pg_catalog.cardinality(v_free) = 0 then
      exit when not tock.bring_up(p_pool, 'free', v_start);
      continue;
    end if;
    delete from tock.places p where p.number = any (array(
      select f.number from unnest(v_free) f where f.leased_until <= pg_catalog.clock_timestamp()));
    exit when not found;
  end loop;
  return v_free;
end $$;

comment on function tock.free_workers is 'Locks the workers that have been free for longest, up to so many.';
