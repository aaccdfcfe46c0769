create or replace function tock.take_task(p_pool text, p_worker text, p_lease_seconds integer default null)
returns table (state text, task text, fencing_token bigint, leased_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_seconds integer := coalesce(p_lease_seconds, 60);
  v_number bigint;
  v_own tock.pool_members;
  v_task tock.pool_members;
  v_pair tock.pool_members;
  v_until timestamptz;
begin
  -- The most frequent take is one statement, for a worker that is not in the pool. With an invalid pool it
  -- finds nothing, and the slow path below reports all invalid arguments. A call that adds a new worker holds
  -- the advisory lock of that worker, so the unique key cannot conflict.
  if pg_catalog.length(p_worker) between 1 and 200 and v_seconds between 1 and 86400
    and pg_catalog.pg_try_advisory_xact_lock(tock.pairing_key(p_pool, 'worker', p_worker))
    and pg_catalog.current_setting('transaction_isolation') = 'read committed'
    and tock.current_segment() is not null
  then
    leased_until := pg_catalog.clock_timestamp() + v_seconds * interval '1 second';
    update tock.pool_members p
    set number = pg_catalog.nextval('tock.pool_member_numbers'), worker = p_worker, lease_seconds = v_seconds,
      since = pg_catalog.now(), leased_until = take_task.leased_until, check_at = take_task.leased_until
    where p.ctid = (
      select w.ctid from tock.pool_members w
      where w.pool = p_pool and w.worker is null
        and w.turn >= coalesce((
          select m.reached from tock.wait_list_cursors m where m.pool = p_pool and m.line = 'waiting'
          order by m.pool desc, m.line desc, m.number desc offset 3 limit 1), 0)
        and (select o.number from tock.pool_members o where o.pool = p_pool and o.worker = p_worker) is null
      order by w.pool, w.turn limit 1 for update of w skip locked)
    returning p.task, p.number, p.turn into task, fencing_token, v_number;
    if fencing_token is not null then
      if pg_catalog.random() < 0.0625 then
        insert into tock.wait_list_cursors (pool, line, number, reached)
        values (p_pool, 'waiting', fencing_token, v_number);
      end if;
      state := 'taken';
      return next;
      return;
    end if;
  end if;
  perform tock.check_member(p_pool, p_worker, '-', p_lease_seconds);
  if tock.current_segment() is null then
    perform tock.guard_before_use();
  end if;
  perform pg_catalog.pg_advisory_xact_lock(tock.pairing_key(p_pool, 'worker', p_worker));
  for v_try in 1 .. 10 loop
    v_own := tock.member_of_worker(p_pool, p_worker);
    if v_own.task is not null then
      v_until := case when v_own.leased_until > pg_catalog.clock_timestamp()
        then tock.heartbeat(v_own, p_lease_seconds, false) end;
      if v_until is not null then
        return query select 'held', v_own.task, v_own.number, v_until;
        return;
      end if;
      perform tock.end_assignment(v_own, v_own.offered, true);
      continue;
    elsif v_own.number is not null then
      perform from tock.pool_members p where p.number = v_own.number for update skip locked;
      if not found then
        continue when (tock.member_of_worker(p_pool, p_worker)).number is distinct from v_own.number;
        return query select 'busy', null::text, null::bigint, v_own.leased_until;
        return;
      end if;
    end if;
    v_task := tock.lock_first_waiting(p_pool, 'waiting');
    if v_task.number is null then
      continue when tock.release_vanished(p_pool);
      v_until := case when v_own.number is not null then tock.heartbeat(v_own, p_lease_seconds, true) end;
      return query select 'empty', null::text, null::bigint, v_until;
      return;
    end if;
    v_pair := tock.pair(p_pool, p_worker, v_task.task, v_own, v_task, p_lease_seconds);
    if v_pair.number is not null then
      return query select 'taken', v_pair.task, v_pair.number, v_pair.leased_until;
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'other calls are changing the assignment of this worker', null, 'try again');
end $$;

comment on function tock.take_task is
  'Assigns to a worker, joined or not, the task that has waited for longest in the pool. State: taken; '
  'held, with its present task and a later deadline, if it has one; empty if no task waits, which also is '
  'the heartbeat of a joined worker; busy while another call is assigning it a task.';
