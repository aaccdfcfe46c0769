-- The call waits about 1 s at most for other transactions. A task that another open transaction is assigning
-- or adding is left out, so that it blocks neither the other tasks nor the workers. Waiting tasks are locked
-- row by row, skipping locked ones. A new task has no row, so its advisory lock shows whether another call is
-- assigning it.
create or replace function tock.assign_tasks(
  p_pool text, p_tasks text[], p_lease_seconds integer default null)
returns table (task text, state text, worker text, fencing_token bigint, leased_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_open tock.pool_members[];
  v_member tock.pool_members;
  v_vanished boolean := false;
  v_tried text[] := '{}';
  v_pairs bigint[] := '{}';
begin
  perform tock.check_member(p_pool, '-', '-', p_lease_seconds);
  perform tock.check_tasks(p_tasks, 10000);
  if tock.current_segment() is null then
    perform tock.guard_before_use();
  end if;
  v_open := tock.unheld_tasks(p_pool, p_tasks);
  for v_member in
    select p.* from unnest(v_open) o join tock.pool_members p on p.number = any (array[o.number])
    where o.worker is not null for update of p skip locked
  loop
    v_vanished := tock.end_assignment(v_member, v_member.offered, true) or v_vanished;
  end loop;
  if v_vanished then
    v_open := tock.unheld_tasks(p_pool, p_tasks);
  end if;
  if pg_catalog.cardinality(v_open) > 0 then
    select e.pairs, e.tried into v_pairs, v_tried
    from tock.pair_parts(p_pool, v_open, p_lease_seconds,
      pg_catalog.clock_timestamp() + interval '1 second') e;
  end if;
  return query
    select t.task, case when p.number is null and t.task in (select o from unnest(v_tried) o) then 'none'
      when p.number is null then 'busy'
        when p.worker is null then 'waiting' when p.number in (select a from unnest(v_pairs) a)
          then 'assigned' else 'held' end,
      p.worker, case when p.worker is not null then p.number end, nullif(p.leased_until, 'infinity')
    from unnest(p_tasks) with ordinality t(task, n)
    cross join lateral tock.member_of_task(p_pool, t.task) p
    order by t.n;
end $$;

comment on function tock.assign_tasks is
  'Like assign_task() for up to 10,000 tasks: each gets its own free worker while there are any. Returns '
  'them in the order given, with the states assigned, held, waiting, none, and busy for a task that another '
  'call is assigning.';

-- The tasks of a list that no live worker holds and no other call is assigning, in its order, each once. The
-- number of a new task is null. Its lock shows whether another call is assigning it. The lock is released at
-- once, because 10,000 locks would exceed the lock table of the server.
create or replace function tock.unheld_tasks(p_pool text, p_tasks text[])
returns tock.pool_members[] language plpgsql volatile as $$
begin
  return array(
    select row(p.number, p_pool, p.worker, t.task, coalesce(p.joined, false),
      coalesce(p.offered, false), p.turn,
      coalesce(p.lease_seconds, 60), p.since, p.leased_until, p.check_at)::tock.pool_members
    from (select u.task, min(u.n) as n from unnest(p_tasks) with ordinality u(task, n) group by u.task) t
    cross join lateral tock.member_of_task(p_pool, t.task) p
    where case
      when p.number is not null then p.worker is null or p.leased_until <= pg_catalog.clock_timestamp()
      when pg_catalog.pg_try_advisory_lock(tock.pairing_key(p_pool, 'task', t.task))
        then pg_catalog.pg_advisory_unlock(tock.pairing_key(p_pool, 'task', t.task))
      else false end
    order by t.n);
end $$;

-- Like pair_all(). If another session has locked one of the tasks, pairs each half separately, down to the
-- single task that is left out, or until that takes too long.
create or replace function tock.pair_parts(
  p_pool text, p_tasks tock.pool_members[], p_lease_seconds integer, p_until timestamptz, out pairs bigint[],
  out tried text[])
language plpgsql volatile as $$
declare
  v_half integer := pg_catalog.cardinality(p_tasks) / 2;
  v_first record;
  v_second record;
begin
  pairs := tock.pair_all(p_pool, p_tasks, p_lease_seconds);
  tried := array(select t.task from unnest(p_tasks) t);
exception when lock_not_available then
  if v_half = 0 or pg_catalog.clock_timestamp() > p_until then
    pairs := '{}';
    tried := '{}';
    return;
  end if;
  select * into v_first from tock.pair_parts(p_pool, p_tasks[:v_half], p_lease_seconds, p_until);
  select * into v_second from tock.pair_parts(p_pool, p_tasks[v_half + 1:], p_lease_seconds, p_until);
  pairs := v_first.pairs || v_second.pairs;
  tried := v_first.tried || v_second.tried;
end $$;

-- Assigns each task to a free worker while there are any; returns the fencing tokens. The steps are those of
-- pair(): lock, delete, insert, restore. The insert follows the order of names, so that two calls with the
-- same tasks cannot deadlock.
create or replace function tock.pair_all(p_pool text, p_tasks tock.pool_members[], p_lease_seconds integer)
returns bigint[] language plpgsql volatile
set lock_timeout = '50ms' as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_free tock.pool_members[] := tock.free_workers(p_pool, pg_catalog.cardinality(p_tasks));
  v_count integer := pg_catalog.cardinality(v_free);
  v_locked bigint[];
  v_assignable tock.pool_members[];
  v_numbers bigint[];
  v_workers text[];
begin
  if v_count = 0 then
    return '{}';
  end if;
  v_locked := array(
    select w.number
    from (select t.number, t.ordinality as n from unnest(p_tasks) with ordinality t
      where t.number is not null) o
    join tock.pool_members w on w.number = any (array[o.number])
    -- not `is null`, for which a plan might read all waiting tasks by their partial index
    where pg_catalog.num_nulls(w.worker) = 1
    order by o.n limit v_count for update of w skip locked);
  -- the new tasks, and the waiting ones that it could lock
  v_assignable := array(
    select row(o.number, o.pool, null, o.task, false, o.offered, o.turn, o.lease_seconds, o.since,
      o.leased_until, o.check_at)::tock.pool_members
    from unnest(p_tasks) with ordinality o
    where o.number is null or o.number in (select l from unnest(v_locked) l)
    order by o.ordinality limit v_count);
  delete from tock.pool_members p where p.number = any (array(
    select f.number from unnest(v_free[:pg_catalog.cardinality(v_assignable)]) f
    union all select g.number from unnest(v_assignable) g where g.number is not null));
  with pairs as (
    insert into tock.pool_members (number, pool, worker, task, joined, offered, lease_seconds,
      leased_until, check_at)
    select pg_catalog.nextval('tock.pool_member_numbers'), p_pool, o.worker, o.task, true,
      o.offered, o.seconds, v_now + o.seconds * interval '1 second', v_now + o.seconds * interval '1 second'
    from (
      select f.worker, g.task, g.offered, coalesce(p_lease_seconds, f.lease_seconds) as seconds
      from unnest(v_free) with ordinality f
      join unnest(v_assignable) with ordinality g on g.ordinality = f.ordinality
      order by g.task collate "C") o
    on conflict do nothing
    returning number, worker)
  select coalesce(pg_catalog.array_agg(p.number), '{}'), coalesce(pg_catalog.array_agg(p.worker), '{}')
    into v_numbers, v_workers from pairs p;
  if pg_catalog.cardinality(v_workers) < v_count then
    insert into tock.pool_members select f.* from unnest(v_free) f
    where f.worker not in (select w from unnest(v_workers) w)
      on conflict do nothing;
  end if;
  if pg_catalog.cardinality(v_numbers) > pg_catalog.random() * 16 then
    perform tock.save_wait_list_cursor(p_pool, 'free', v_free[1].turn, 1, null);
  end if;
  return v_numbers;
end $$;
