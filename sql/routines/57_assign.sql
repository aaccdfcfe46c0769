-- Lock order: the task's row, then a free worker's by skipping those that are locked; only who wants the same task or
-- the same worker waits, 2 s at most. The unique keys decide.
create or replace function tock.assign(
  p_pool text, p_task text, p_worker text default null, p_lease_seconds integer default null, p_wait boolean default false)
returns table (state text, worker text, fence bigint, leased_until timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_task tock.places;
  v_worker tock.places;
  v_pair tock.places;
begin
  perform tock.check_place(p_pool, coalesce(p_worker, '-'), p_task, p_lease_seconds);
  for v_try in 1 .. 10 loop
    v_task := tock.place_of_task(p_pool, p_task);
    if v_task.worker is not null and v_task.leased_until > pg_catalog.clock_timestamp() then
      return query select 'held', v_task.worker, v_task.number, v_task.leased_until;
      return;
    elsif v_task.worker is not null then
      perform tock.part(v_task, v_task.offered, true);
      continue;
    elsif v_try = 1 then
      perform tock.one_at_a_time(p_pool, 'task', p_task);
      continue;
    elsif v_task.number is not null then
      select p.* into v_task from tock.places p where p.number = v_task.number for update;
      continue when not found;
    end if;
    v_worker := case when p_worker is null then tock.free_worker(p_pool) else tock.place_of_worker(p_pool, p_worker) end;
    if v_worker.task is not null and v_worker.leased_until <= pg_catalog.clock_timestamp() then
      perform tock.part(v_worker, v_worker.offered, true);
      continue;
    elsif v_worker.task is not null or (p_worker is null and v_worker.number is null) then
      if coalesce(p_wait, false) and v_task.number is null then
        continue when not tock.line_up(p_pool, null, p_task, null, null);
        v_task.offered := true;
      end if;
      return query select case when v_task.offered then 'waiting' else 'none' end, null::text, null::bigint, null::timestamptz;
      return;
    elsif p_worker is not null and v_worker.number is not null then
      select p.* into v_worker from tock.places p where p.number = v_worker.number for update;
      continue when not found;
    end if;
    v_pair := tock.pair(p_pool, coalesce(p_worker, v_worker.worker), p_task, v_worker, v_task, p_lease_seconds);
    if v_pair.number is not null then
      return query select 'assigned', v_pair.worker, v_pair.number, v_pair.leased_until;
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'others are assigning this task at the same time', null, 'try again');
end $$;

comment on function tock.assign is
  'Gives a task to the worker that has been free for longest, or to p_worker, whether it has joined or not. State: assigned; held, by whom, when it was before; none when nobody is free (p_worker: it holds another), or waiting, with p_wait until a worker takes it.';

-- The commonest take in one statement: of a worker that is in no place of the pool. The caller has the worker's lock.
create or replace function tock.take_next(
  p_pool text, p_worker text, p_lease_seconds integer, out task text, out fence bigint, out leased_until timestamptz)
language plpgsql
volatile
as $$
declare
  v_start bigint := tock.line_start(p_pool, 'waiting');
  v_until timestamptz := pg_catalog.clock_timestamp() + coalesce(p_lease_seconds, 60) * interval '1 second';
  v_both record;
begin
  with next as (
    delete from tock.places p
    where p.number = (
      select w.number from tock.places w
      where w.pool = p_pool and w.worker is null and w.turn >= v_start
        and (select o.number from tock.places o where o.pool = p_pool and o.worker = p_worker) is null
      order by w.pool, w.turn limit 1 for update of w skip locked)
    returning p.number, p.task, p.offered, p.turn, p.lease_seconds, p.since
  ), pair as (
    insert into tock.places (number, pool, worker, task, offered, lease_seconds, leased_until, look_at)
    select pg_catalog.nextval('tock.place_numbers'), p_pool, p_worker, n.task, n.offered, coalesce(p_lease_seconds, 60),
      v_until, v_until
    from next n
    on conflict do nothing
    returning places.number)
  select n.*, p.number as fence into v_both from next n left join pair p on true;
  if v_both.fence is not null then
    task := v_both.task; fence := v_both.fence; leased_until := v_until;
    if pg_catalog.random() < 0.0625 then
      insert into tock.line_marks (pool, line, number, reached) values (p_pool, 'waiting', v_both.fence, v_both.turn);
    end if;
  elsif v_both.number is not null then
    -- somebody has given it one in between
    insert into tock.places (number, pool, task, offered, turn, lease_seconds, since)
      values (v_both.number, p_pool, v_both.task, v_both.offered, v_both.turn, v_both.lease_seconds, v_both.since)
      on conflict do nothing;
  end if;
end $$;

comment on function tock.take_next is 'Gives a worker that holds nothing and has not joined the next task; null when none waits, or the worker is in the pool.';

create or replace function tock.take(p_pool text, p_worker text, p_lease_seconds integer default null)
returns table (state text, task text, fence bigint, leased_until timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '2s'
as $$
#variable_conflict use_column
declare
  v_own tock.places;
  v_task tock.places;
  v_pair tock.places;
  v_until timestamptz;
begin
  perform tock.check_place(p_pool, p_worker, '-', p_lease_seconds);
  perform tock.one_at_a_time(p_pool, 'worker', p_worker);
  select t.* into task, fence, leased_until from tock.take_next(p_pool, p_worker, p_lease_seconds) t;
  if fence is not null then
    state := 'taken';
    return next;
    return;
  end if;
  for v_try in 1 .. 10 loop
    v_own := tock.place_of_worker(p_pool, p_worker);
    if v_own.task is not null then
      v_until := case when v_own.leased_until > pg_catalog.clock_timestamp() then tock.beat(v_own, p_lease_seconds, false) end;
      if v_until is not null then
        return query select 'held', v_own.task, v_own.number, v_until;
        return;
      end if;
      perform tock.part(v_own, v_own.offered, true);
      continue;
    elsif v_own.number is not null then
      perform from tock.places p where p.number = v_own.number for update skip locked;
      if not found then
        continue when (tock.place_of_worker(p_pool, p_worker)).number is distinct from v_own.number;
        return query select 'busy', null::text, null::bigint, v_own.leased_until;
        return;
      end if;
    end if;
    v_task := tock.waiting_task(p_pool);
    if v_task.number is null then
      continue when tock.release_vanished(p_pool);
      v_until := case when v_own.number is not null then tock.beat(v_own, p_lease_seconds, true) end;
      return query select 'empty', null::text, null::bigint, v_until;
      return;
    end if;
    v_pair := tock.pair(p_pool, p_worker, v_task.task, v_own, v_task, p_lease_seconds);
    if v_pair.number is not null then
      return query select 'taken', v_pair.task, v_pair.number, v_pair.leased_until;
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'others are changing where this worker is', null, 'try again');
end $$;

comment on function tock.take is
  'Gives a worker, joined or not, the task that has waited for longest in the pool. State: taken; held, its own again with a later end, when it has one; empty when none waits, which is a heartbeat for one that has joined; busy while somebody is giving it one.';

create or replace function tock.offer(p_pool text, p_tasks text[])
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
declare
  v_added integer;
begin
  perform tock.check_place(p_pool, '-', '-', null);
  perform tock.check_tasks(p_tasks, 100000);
  insert into tock.places (number, pool, task, offered, turn)
  select o.number, p_pool, o.task, true, o.number
  from (
    select pg_catalog.nextval('tock.place_numbers') as number, t.task
    from (select u.task from unnest(p_tasks) with ordinality u(task, n) order by u.n) t) o
  on conflict do nothing;
  get diagnostics v_added = row_count;
  return v_added;
end $$;

comment on function tock.offer is 'Puts tasks into a pool for workers to take, in this order; those that are in it already stay as they are. Returns how many it put in.';

create or replace function tock.unassign(p_pool text, p_task text, p_fence bigint default null, p_again boolean default false)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
set lock_timeout = '2s'
as $$
declare
  v_place tock.places;
begin
  perform tock.check_place(p_pool, '-', p_task, null);
  for v_try in 1 .. 10 loop
    v_place := tock.place_of_task(p_pool, p_task);
    if v_place.number is null or v_place.number <> p_fence then
      return false;
    elsif v_place.worker is not null and v_place.leased_until <= pg_catalog.clock_timestamp() then
      -- its worker has vanished: that is seen to first
      perform tock.part(v_place, v_place.offered, true);
    else
      select p.* into v_place from tock.places p where p.number = v_place.number for update;
      if found and tock.part(v_place, coalesce(p_again, false), false) then
        return true;
      end if;
    end if;
  end loop;
  perform tock.refuse(503, 'others are changing where this task is', null, 'try again');
end $$;

comment on function tock.unassign is
  'Takes a task out of a pool, or with p_again lets it wait there for another worker; its worker is free again. With p_fence only while that holding goes on. False when there was nothing to end.';
