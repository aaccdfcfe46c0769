-- Makes the added tasks of vanished workers wait again: those of the last minute, or all if the maintenance
-- job is late. Returns whether there were any. The maintenance job reap_pools does this for all pools. A
-- take_task() that finds no task calls this function, which checks up to 100 deadlines of the last minute. If
-- the job is late, as in a suspended database, the function does the work of the job for this pool. So
-- next_wake_at() need not wake the database for a pool.
create or replace function tock.release_vanished(p_pool text)
returns boolean language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_reached timestamptz := coalesce((select d.reached_at from tock.maintenance_jobs d
    where d.name = 'reap_pools'), '-infinity');
  v_member tock.pool_members;
  v_any boolean := false;
begin
  if v_reached < v_now - interval '1 minute' then
    return tock.reap_pool(p_pool, v_reached, v_now, 10000) > 0;
  end if;
  foreach v_member in array array(
    select d.place from (
      select p::tock.pool_members as place, p.leased_until from tock.pool_members p
      where p.pool = p_pool and p.check_at >= v_now - interval '1 minute' and p.check_at <= v_now
        and p.check_at < 'infinity'
      order by p.pool, p.check_at limit 100) d
    where d.leased_until <= v_now and (d.place).offered and (d.place).worker is not null)
  loop
    perform from tock.pool_members p where p.number = v_member.number for update skip locked;
    v_any := (found and tock.end_assignment(v_member, true, true)) or v_any;
  end loop;
  return v_any;
end $$;

-- Removes the vanished workers of one pool, among p_limit with a due check; returns the number checked.
create or replace function tock.reap_pool(p_pool text, p_from timestamptz, p_now timestamptz, p_limit integer)
returns integer language plpgsql volatile as $$
declare
  v_due tock.pool_members[] := array(
    select p::tock.pool_members from tock.pool_members p
    where p.pool = p_pool and p.check_at >= p_from and p.check_at <= p_now and p.check_at < 'infinity'
    order by p.pool, p.check_at limit p_limit for update skip locked);
begin
  delete from tock.pool_members p using unnest(v_due) d
  where p.number = any (array[d.number]) and d.leased_until <= p_now;
  perform tock.append_to_wait_list(d.pool, null, d.task, null, null) from unnest(v_due) d
    where d.leased_until <= p_now and d.offered;
  update tock.pool_members p set check_at = d.leased_until from unnest(v_due) d
  where p.number = any (array[d.number]) and d.leased_until > p_now;
  return pg_catalog.cardinality(v_due);
end $$;

-- The job continues where its last call stopped. Once a minute it reads all, since a transaction may have
-- committed late.
create or replace function tock.reap_pools(p_limit integer default 10000, p_sweep boolean default null)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_job tock.maintenance_jobs := (select d from tock.maintenance_jobs d where d.name = 'reap_pools');
  v_set_back boolean := coalesce(v_job.reached_at > v_now, false);  -- the clock
  v_sweep boolean := coalesce(p_sweep, v_set_back or v_job.swept_at is null
    or v_job.swept_at < v_now - interval '1 minute');
  v_from timestamptz := case when v_sweep then '-infinity' else coalesce(v_job.reached_at, '-infinity') end;
  v_pool text := '~';
  v_done integer := 0;
begin
  loop
    v_pool := (
      select p.pool from tock.pool_members p where p.check_at < 'infinity' and p.pool < v_pool
      order by p.pool desc, p.check_at desc limit 1);
    exit when v_pool is null or v_done >= p_limit;
    v_done := v_done + tock.reap_pool(v_pool, v_from, v_now, p_limit - v_done);
  end loop;
  perform tock.prune_wait_lists();
  update tock.maintenance_jobs d
  set reached_at = case when v_done >= p_limit then d.reached_at when v_set_back then v_now
      else greatest(d.reached_at, v_now) end,
    swept_at = case when v_sweep and v_done < p_limit
      then v_now + 20 * (pg_catalog.clock_timestamp() - v_now) else d.swept_at end
  where d.name = 'reap_pools';
  return v_done;
end $$;

comment on function tock.reap_pools is
  'Removes workers past their deadline in all pools: added tasks wait again, others are over. Checks '
  'p_limit members a call and returns the number. p_sweep reads all (default: once a minute).';
