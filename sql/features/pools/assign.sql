-- Lock order: the task's row, then a free worker's by skipping those that are locked; only who wants the same
-- task or the same worker waits, 2 s at most. The unique keys decide. No fence is drawn before a wait but at
-- a task's key, see pair(). The quick ways keep to a server that hot_epoch() vouches for;
-- the others have it guarded.
create or replace function tock.assign(
  p_pool text, p_task text, p_worker text default null, p_lease_seconds integer default null,
  p_wait boolean default false)
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
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_turn bigint;
  v_alone boolean := false;
  v_task tock.places;
  v_worker tock.places;
  v_pair tock.places;
begin
  -- The commonest: somebody is free, for a task that is nowhere in the pool. What is wrong
  -- with the call is said below.
  if p_worker is null and pg_catalog.length(p_task) between 1 and 200
    and coalesce(p_lease_seconds, 60) between 1 and 86400
    and pg_catalog.pg_try_advisory_xact_lock(tock.pairing_key(p_pool, 'task', p_task))
    and pg_catalog.current_setting('transaction_isolation') = 'read committed'
    and tock.current_epoch() is not null
  then
    begin
      update tock.places p
      set number = pg_catalog.nextval('tock.place_numbers'), task = p_task,
        lease_seconds = coalesce(p_lease_seconds, p.lease_seconds), since = pg_catalog.now(),
        leased_until = v_now + coalesce(p_lease_seconds, p.lease_seconds) * interval '1 second',
        look_at = v_now + coalesce(p_lease_seconds, p.lease_seconds) * interval '1 second'
      where p.leased_until > v_now and p.ctid = (
        select w.ctid from tock.places w
        where w.pool = p_pool and w.task is null
          and w.turn >= coalesce((
            select m.reached from tock.line_marks m where m.pool = p_pool and m.line = 'free'
            order by m.pool desc, m.line desc, m.number desc offset 3 limit 1), 0)
          and (select o.number from tock.places o where o.pool = p_pool and o.task = p_task) is null
        order by w.pool, w.turn limit 1 for update of w skip locked)
      returning p.worker, p.number, p.leased_until, p.turn into worker, fence, leased_until, v_turn;
    exception when unique_violation then
      -- offered in between
      fence := null;
    end;
    if fence is not null then
      if pg_catalog.random() < 0.0625 then
        insert into tock.line_marks (pool, line, number, reached) values (p_pool, 'free', fence, v_turn);
      end if;
      state := 'assigned';
      return next;
      return;
    end if;
  end if;
  perform tock.check_place(p_pool, coalesce(p_worker, '-'), p_task, p_lease_seconds);
  perform tock.guard_fences();
  for v_try in 1 .. 10 loop
    v_task := tock.place_of_task(p_pool, p_task);
    if v_task.worker is not null and v_task.leased_until > pg_catalog.clock_timestamp() then
      return query select 'held', v_task.worker, v_task.number, v_task.leased_until;
      return;
    elsif v_task.worker is not null then
      perform tock.part(v_task, v_task.offered, true);
      continue;
    elsif not v_alone then
      v_alone := true;
      perform tock.one_at_a_time(p_pool, 'task', p_task);
      if p_worker is not null then
        perform tock.one_at_a_time(p_pool, 'worker', p_worker);
      end if;
      continue;
    elsif v_task.number is not null then
      select p.* into v_task from tock.places p where p.number = v_task.number for update;
      continue when not found;
    end if;
    v_worker := case when p_worker is null then tock.free_worker(p_pool)
      else tock.place_of_worker(p_pool, p_worker) end;
    if v_worker.task is not null and v_worker.leased_until <= pg_catalog.clock_timestamp() then
      perform tock.part(v_worker, v_worker.offered, true);
      continue;
    elsif v_worker.task is not null or (p_worker is null and v_worker.number is null) then
      if coalesce(p_wait, false) and v_task.number is null then
        continue when not tock.line_up(p_pool, null, p_task, null, null);
        v_task.offered := true;
      end if;
      return query
        select case when v_task.offered then 'waiting' else 'none' end, null::text, null::bigint,
          null::timestamptz;
      return;
    elsif p_worker is not null and v_worker.number is not null then
      select p.* into v_worker from tock.places p where p.number = v_worker.number for update;
      continue when not found;
    end if;
    v_pair := tock.pair(p_pool, coalesce(p_worker, v_worker.worker), p_task, v_worker, v_task,
      p_lease_seconds);
    if v_pair.number is not null then
      return query select 'assigned', v_pair.worker, v_pair.number, v_pair.leased_until;
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'others are assigning this task at the same time', null, 'try again');
end $$;

comment on function tock.assign is
  'Gives a task to the worker that has been free for longest, or to p_worker, whether it has joined or not. '
  'State: assigned; held, by whom, when it was before; none when nobody is free (p_worker: it holds '
  'another), or waiting, with p_wait until a worker takes it.';

create or replace function tock.unassign(
  p_pool text, p_task text, p_fence bigint default null, p_again boolean default false)
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
  v_number bigint;
  v_place tock.places;
begin
  -- The commonest: its worker has joined, is there, and goes to the end of its line.
  if not coalesce(p_again, false) then
    v_number := pg_catalog.nextval('tock.place_numbers');
    update tock.places p
    set number = v_number, turn = v_number, task = null, offered = false, since = pg_catalog.now()
    where p.pool = p_pool and p.task = p_task and p.number = coalesce(p_fence, p.number) and p.joined
      and p.leased_until > pg_catalog.clock_timestamp();
    if found then
      return true;
    end if;
  end if;
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
  'Takes a task out of a pool, or with p_again lets it wait there for another worker; its worker is free '
  'again. With p_fence only while that holding goes on. False when there was nothing to end.';
