-- If another call is pairing the worker at this moment, join_pool() returns its earlier state and does not
-- move its deadline.
create or replace function tock.join_pool(
  p_pool text, p_worker text, p_lease_seconds integer default null, p_fencing_token bigint default null)
returns table (state text, task text, fencing_token bigint, leased_until timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_member tock.pool_members;
  v_own_transaction boolean := false;
  v_until timestamptz;
begin
  perform tock.check_member(p_pool, p_worker, '-', p_lease_seconds);
  for v_try in 1 .. 5 loop
    v_member := tock.member_of_worker(p_pool, p_worker);
    if p_fencing_token is not null
      and (v_member.task is null or v_member.number <> p_fencing_token
        or v_member.leased_until <= pg_catalog.clock_timestamp())
    then
      return query select 'lost', null::text, null::bigint, null::timestamptz;
      return;
    elsif v_member.number is null and not v_own_transaction then
      perform pg_catalog.pg_advisory_xact_lock(tock.pairing_key(p_pool, 'worker', p_worker));
      v_own_transaction := true;
    elsif v_member.number is null then
      v_until := pg_catalog.clock_timestamp() + coalesce(p_lease_seconds, 60) * interval '1 second';
      if tock.append_to_wait_list(p_pool, p_worker, null, p_lease_seconds, v_until) then
        return query select 'free', null::text, null::bigint, v_until;
        return;
      end if;
    elsif v_member.task is not null and v_member.leased_until <= pg_catalog.clock_timestamp() then
      perform tock.end_assignment(v_member, v_member.offered, true);
    elsif v_member.leased_until <= pg_catalog.clock_timestamp() then
      -- the worker is free, or another session is removing it: wait for that session
      perform from tock.pool_members p where p.number = v_member.number for update;
      continue when not found;
      v_until := tock.heartbeat(v_member, p_lease_seconds, true);
      return query select 'free', null::text, null::bigint, v_until;
      return;
    else
      v_until := tock.heartbeat(v_member, p_lease_seconds, p_fencing_token is null);
      if v_until is not null then
        return query select case when v_member.task is null then 'free' else 'held' end, v_member.task,
          case when v_member.task is not null then v_member.number end, v_until;
        return;
      end if;
    end if;
  end loop;
  perform tock.refuse(503, 'other calls are changing the assignment of this worker', null, 'try again');
end $$;

comment on function tock.join_pool is
  'Makes a worker free in a pool, or is its heartbeat: moves its deadline to p_lease_seconds (default 60) '
  'from now and returns the task that it holds. With p_fencing_token it is a heartbeat for that assignment '
  'only: if that is over, the state is lost and nothing else happens.';

-- Moves the deadline of a worker, or returns its present one while another session holds the row; null if the
-- assignment is over or gone.
create or replace function tock.heartbeat(
  p_member tock.pool_members, p_lease_seconds integer, p_joined boolean)
returns timestamptz language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_seconds integer := coalesce(p_lease_seconds, p_member.lease_seconds);
  v_held tock.pool_members;
begin
  select p.* into v_held from tock.pool_members p where p.number = p_member.number for update skip locked;
  if not found then
    return (select p.leased_until from tock.pool_members p where p.number = p_member.number);
  elsif v_held.task is not null and v_held.leased_until <= v_now then
    return null;
  end if;
  update tock.pool_members p
  set leased_until = v_now + v_seconds * interval '1 second', lease_seconds = v_seconds,
    joined = p.joined or p_joined,
    -- The next check moves with the deadline, but never later than an earlier deadline requires. A worker
    -- with timely heartbeats is never checked. A check would lock its row, since the maintenance job keeps
    -- the rows that it checks locked until its tick ends.
    check_at = case when p.check_at < v_now + v_seconds * interval '0.5 second'
      then v_now + v_seconds * interval '1 second'
      else least(p.check_at, v_now + v_seconds * interval '1 second') end
  where p.number = p_member.number;
  return v_now + v_seconds * interval '1 second';
end $$;

create or replace function tock.leave_pool(p_pool text, p_worker text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set plan_cache_mode = force_generic_plan
set lock_timeout = '2s' as $$
declare
  v_member tock.pool_members;
begin
  perform tock.check_member(p_pool, p_worker, '-', null);
  for v_try in 1 .. 10 loop
    v_member := tock.member_of_worker(p_pool, p_worker);
    if v_member.number is null then
      return false;
    end if;
    -- the delete waits for a call that is pairing the worker; it then finds nothing, and the next turn of the
    -- loop reads the row again
    delete from tock.pool_members p where p.number = v_member.number;
    if found then
      if v_member.offered then
        perform tock.append_to_wait_list(p_pool, null, v_member.task, null, null);
      end if;
      return true;
    end if;
  end loop;
  perform tock.refuse(503, 'other calls are changing the assignment of this worker', null, 'try again');
end $$;

comment on function tock.leave_pool is
  'Removes a worker from a pool and ends its assignment: an added task waits again, another one is over. '
  'False if it is not in the pool.';
