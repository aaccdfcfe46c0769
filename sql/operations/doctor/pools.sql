-- The oldest tasks of pools, among the first 1,000, that have waited for over ten minutes while no worker
-- holds a task. A worker that has not joined is in no row of the pool between two tasks. So the oldest task
-- is checked three times: a worker that took a task in between has taken the oldest.
create or replace function tock.deserted_pools()
returns setof tock.pool_members language plpgsql volatile as $$
declare
  v_oldest tock.pool_members[];
begin
  v_oldest := array(
    with recursive every (pool, n) as (
      (select p.pool, 1 from tock.pool_members p where p.worker is null order by p.pool limit 1)
      union all
      select (select p.pool from tock.pool_members p where p.worker is null and p.pool > e.pool
        order by p.pool
        limit 1), e.n + 1
      from every e where e.pool is not null and e.n < 1000)
    select tock.oldest_waiting(e.pool) from every e where e.pool is not null);
  for v_scan in 1 .. 3 loop
    v_oldest := array(
      select o from unnest(v_oldest) o
      where o.since < pg_catalog.clock_timestamp() - interval '10 minutes'
        and o.number = (tock.oldest_waiting(o.pool)).number
        -- no worker, among the first 1,000 by name, holds a task
        and not exists (
          select from (
            select p.task, p.leased_until from tock.pool_members p
            where p.pool = o.pool and p.worker is not null order by p.pool, p.worker limit 1000) w
          where w.task is not null and w.leased_until > pg_catalog.clock_timestamp()));
    exit when pg_catalog.cardinality(v_oldest) = 0;
    perform pg_catalog.pg_sleep(0.05);
  end loop;
  return query select * from unnest(v_oldest);
end $$;

-- The task that has waited for longest in a pool, in the order of take_task(), without a lock.
create or replace function tock.oldest_waiting(p_pool text)
returns tock.pool_members language plpgsql volatile as $$
declare
  v_start bigint := tock.wait_list_start(p_pool, 'waiting');
begin
  return (
    select p from tock.pool_members p where p.pool = p_pool and p.worker is null and p.turn >= v_start
    order by p.pool, p.turn limit 1);
end $$;

-- The number of workers of a pool, among the first 1,000 to check, that are past their deadline and were not
-- removed. The maintenance job checks each member within ten seconds. A member past its deadline for longer
-- than a job may be late was not checked.
create or replace function tock.workers_past_deadline(p_pool text)
returns integer language plpgsql volatile as $$
declare
  v_late timestamptz := pg_catalog.clock_timestamp() - (
    select 3 * d.every_seconds + 120 from tock.maintenance_jobs d where d.name = 'reap_pools')
    * interval '1 second';
begin
  return (
    select count(*) from (
      select p.leased_until from tock.pool_members p
      where p.pool = p_pool and p.check_at < v_late order by p.pool, p.check_at limit 1000) l
    where l.leased_until < v_late);
end $$;

-- Findings about pools, the first 1,000: a task waits and no worker takes it, or workers have been past their
-- deadline for longer than the maintenance job should need.
create or replace function tock.doctor_of_pools()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with recursive every (pool, n) as (
    (select p.pool, 1 from tock.pool_members p where p.check_at < 'infinity' order by p.pool limit 1)
    union all
    select (select p.pool from tock.pool_members p where p.check_at < 'infinity' and p.pool > e.pool
      order by p.pool
      limit 1), e.n + 1
    from every e where e.pool is not null and e.n < 1000
  ), late as (
    select e.pool, tock.workers_past_deadline(e.pool) as workers from every e where e.pool is not null)
  (select 'no worker takes from a pool', 'warning',
    pg_catalog.format('task %s of pool %s has waited since %s, and no worker of the pool holds any',
      d.task, d.pool, tock.utc(d.since)),
    pg_catalog.format(
      'a joined worker has to take tasks too: tock pool take %s WORKER; to remove the task: select '
      'tock.unassign_task(%L, %L)',
      d.pool, d.pool, d.task)
  from tock.deserted_pools() d order by d.since limit 5)
  union all
  select 'vanished workers are not removed', 'warning',
    pg_catalog.string_agg(pg_catalog.format('%s%s of pool %s',
      case when l.workers = 1000 then 'at least ' end, l.workers, l.pool), ', ' order by l.pool),
    'select tock.run_maintenance(''reap_pools''), and see in tock.maintenance_jobs why it did not run'
  from late l where l.workers > 0
  having count(*) > 0
$$;
