-- Lock order: (1) the row of the task; (2) the row of a free worker, skip locked. Only calls for the same
-- task or the same worker wait for each other, at most 2 s. The unique keys decide between them. A fencing
-- token is drawn after all waits except one at the unique key of the task, see pair(). The fast paths run
-- only while current_segment() is not null; the slow path runs the guard.
create or replace function tock.assign_task(
  p_pool text, p_task text, p_worker text default null, p_lease_seconds integer default null,
  p_wait boolean default false)
returns table (state text, worker text, fencing_token bigint, leased_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_number bigint;
  v_own_transaction boolean := false;
  v_task tock.pool_members;
  v_worker tock.pool_members;
  v_pair tock.pool_members;
begin
  -- The most frequent case: a worker is free, and the task is not in the pool. The slow path below reports
  -- invalid arguments.
  if p_worker is null and pg_catalog.length(p_task) between 1 and 200
    and coalesce(p_lease_seconds, 60) between 1 and 86400
    and pg_catalog.pg_try_advisory_xact_lock(tock.pairing_key(p_pool, 'task', p_task))
    and pg_catalog.current_setting('transaction_isolation') = 'read committed'
    and tock.current_segment() is not null
  then
    begin
      update tock.pool_members p
      set number = pg_catalog.nextval('tock.pool_member_numbers'), task = p_task,
        lease_seconds = coalesce(p_lease_seconds, p.lease_seconds), since = pg_catalog.now(),
        leased_until = v_now + coalesce(p_lease_seconds, p.lease_seconds) * interval '1 second',
        check_at = v_now + coalesce(p_lease_seconds, p.lease_seconds) * interval '1 second'
      where p.leased_until > v_now and p.ctid = (
        select w.ctid from tock.pool_members w
        where w.pool = p_pool and w.task is null
          and w.turn >= coalesce((
            select m.reached from tock.wait_list_cursors m where m.pool = p_pool and m.line = 'free'
            order by m.pool desc, m.line desc, m.number desc offset 3 limit 1), 0)
          and (select o.number from tock.pool_members o where o.pool = p_pool and o.task = p_task) is null
        order by w.pool, w.turn limit 1 for update of w skip locked)
      returning p.worker, p.number, p.leased_until, p.turn into worker, fencing_token, leased_until, v_number;
    exception when unique_violation then
      -- the task was added in between
      fencing_token := null;
    end;
    if fencing_token is not null then
      if pg_catalog.random() < 0.0625 then
        insert into tock.wait_list_cursors (pool, line, number, reached)
        values (p_pool, 'free', fencing_token, v_number);
      end if;
      state := 'assigned';
      return next;
      return;
    end if;
  end if;
  perform tock.check_member(p_pool, coalesce(p_worker, '-'), p_task, p_lease_seconds);
  if tock.current_segment() is null then
    perform tock.guard_before_use();
  end if;
  for v_try in 1 .. 10 loop
    v_task := tock.member_of_task(p_pool, p_task);
    if v_task.worker is not null and v_task.leased_until > pg_catalog.clock_timestamp() then
      return query select 'held', v_task.worker, v_task.number, v_task.leased_until;
      return;
    elsif v_task.worker is not null then
      perform tock.end_assignment(v_task, v_task.offered, true);
      continue;
    elsif not v_own_transaction then
      v_own_transaction := true;
      perform pg_catalog.pg_advisory_xact_lock(tock.pairing_key(p_pool, 'task', p_task));
      if p_worker is not null then
        perform pg_catalog.pg_advisory_xact_lock(tock.pairing_key(p_pool, 'worker', p_worker));
      end if;
      continue;
    elsif v_task.number is not null then
      select p.* into v_task from tock.pool_members p where p.number = v_task.number for update;
      continue when not found;
    end if;
    if p_worker is not null then
      v_worker := tock.member_of_worker(p_pool, p_worker);
    else
      v_worker := tock.lock_first_waiting(p_pool, 'free');
      if v_worker.leased_until <= pg_catalog.clock_timestamp() then
        v_worker := (tock.free_workers(p_pool, 1))[1];
      end if;
    end if;
    if v_worker.task is not null and v_worker.leased_until <= pg_catalog.clock_timestamp() then
      perform tock.end_assignment(v_worker, v_worker.offered, true);
      continue;
    elsif v_worker.task is not null or (p_worker is null and v_worker.number is null) then
      if coalesce(p_wait, false) and v_task.number is null then
        continue when not tock.append_to_wait_list(p_pool, null, p_task, null, null);
        v_task.offered := true;
      end if;
      return query
        select case when v_task.offered then 'waiting' else 'none' end, null::text, null::bigint,
          null::timestamptz;
      return;
    elsif p_worker is not null and v_worker.number is not null then
      select p.* into v_worker from tock.pool_members p where p.number = v_worker.number for update;
      continue when not found;
    end if;
    v_pair := tock.pair(p_pool, coalesce(p_worker, v_worker.worker), p_task, v_worker, v_task,
      p_lease_seconds);
    if v_pair.number is not null then
      return query select 'assigned', v_pair.worker, v_pair.number, v_pair.leased_until;
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'other calls are assigning this task at the same time', null, 'try again');
end $$;

comment on function tock.assign_task is
  'Assigns a task to the worker that has been free for longest, or to p_worker, whether it has joined or '
  'not. State: assigned; held with its worker, if it was assigned before; none if no worker is free (with '
  'p_worker: it holds another task), or with p_wait waiting until a worker takes it.';

create or replace function tock.unassign_task(
  p_pool text, p_task text, p_fencing_token bigint default null, p_again boolean default false)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
set lock_timeout = '2s' as $$
declare
  v_number bigint;
  v_member tock.pool_members;
begin
  -- The most frequent case: the worker has joined and is alive. It goes to the end of the list of free
  -- workers.
  if not coalesce(p_again, false) then
    v_number := pg_catalog.nextval('tock.pool_member_numbers');
    update tock.pool_members p
    set number = v_number, turn = v_number, task = null, offered = false, since = pg_catalog.now()
    where p.pool = p_pool and p.task = p_task and p.number = coalesce(p_fencing_token, p.number) and p.joined
      and p.leased_until > pg_catalog.clock_timestamp();
    if found then
      return true;
    end if;
  end if;
  perform tock.check_member(p_pool, '-', p_task, null);
  for v_try in 1 .. 10 loop
    v_member := tock.member_of_task(p_pool, p_task);
    if v_member.number is null or v_member.number <> p_fencing_token then
      return false;
    elsif v_member.worker is not null and v_member.leased_until <= pg_catalog.clock_timestamp() then
      -- the worker has vanished: end that assignment first
      perform tock.end_assignment(v_member, v_member.offered, true);
    else
      select p.* into v_member from tock.pool_members p where p.number = v_member.number for update;
      if found and tock.end_assignment(v_member, coalesce(p_again, false), false) then
        return true;
      end if;
    end if;
  end loop;
  perform tock.refuse(503, 'other calls are changing the assignment of this task', null, 'try again');
end $$;

comment on function tock.unassign_task is
  'Removes a task from a pool, or with p_again makes it wait there for another worker; its worker is free '
  'again. With p_fencing_token only if that assignment still exists. False if there was nothing to end.';
