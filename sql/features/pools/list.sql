create or replace function tock.pool(
  p_pool text, p_worker text default null, p_task text default null, p_waiting boolean default false,
  p_after text default null, p_limit integer default 1000)
returns table (worker text, task text, state text, fencing_token bigint, since timestamptz,
  leased_until timestamptz) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_members tock.pool_members[];
begin
  perform tock.check_member(p_pool, coalesce(p_worker, '-'), coalesce(p_task, '-'), null);
  perform tock.check_range(p_limit, 1, 10000, 'limit');
  if p_task is not null then
    v_members := array[tock.member_of_task(p_pool, p_task)];
  elsif p_worker is not null then
    v_members := array[tock.member_of_worker(p_pool, p_worker)];
  elsif p_waiting then
    v_members := array(
      select p::tock.pool_members from tock.pool_members p
      where p.pool = p_pool and p.worker is null and p.task is not null and p.task > coalesce(p_after, '')
      order by p.pool, p.task limit p_limit);
  else
    v_members := array(
      select p::tock.pool_members from tock.pool_members p
      where p.pool = p_pool and p.worker is not null and p.worker > coalesce(p_after, '')
        and p.leased_until > pg_catalog.clock_timestamp()
      order by p.pool, p.worker limit p_limit);
  end if;
  return query
    select p.worker, p.task, case when p.task is null then 'free' when p.worker is null then 'waiting'
      else 'held' end,
      case when p.worker is not null and p.task is not null then p.number end, p.since,
      nullif(p.leased_until, 'infinity')
    from unnest(v_members) with ordinality p
    where p.number is not null and p.leased_until > pg_catalog.clock_timestamp()
      and (p_task is null or p_worker is null or p.worker = p_worker)
    order by p.ordinality;
end $$;

comment on function tock.pool is
  'The members of a pool: workers by name, free or holding a task; with p_waiting the waiting tasks; or the '
  'named one. Starts after p_after, up to p_limit. Workers past their deadline are left out.';

create or replace function tock.pools()
returns table (pool text, free bigint, held bigint, waiting bigint) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_pool text := '';
begin
  loop
    v_pool := least(
      (select p.pool from tock.pool_members p where p.pool > v_pool and p.worker is not null
       order by p.pool, p.worker limit 1),
      (select p.pool from tock.pool_members p where p.pool > v_pool and p.task is not null
       order by p.pool, p.task limit 1));
    exit when v_pool is null;
    return query
      select v_pool, count(*) filter (where w.task is null), count(*) filter (where w.task is not null),
        (select count(*) from (
          select from tock.pool_members p where p.pool = v_pool and p.worker is null order by p.pool, p.turn
          limit 100000) t)
      from (
        select p.task, p.leased_until from tock.pool_members p where p.pool = v_pool and p.worker is not null
        order by p.pool, p.worker limit 100000) w
      where w.leased_until > pg_catalog.clock_timestamp();
  end loop;
end $$;

comment on function tock.pools is
  'All pools with their numbers of free workers, held tasks and waiting tasks; counts at most 100,000 '
  'workers and tasks per pool.';
