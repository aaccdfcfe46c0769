create or replace function tock.search_waiting(p_filter jsonb, p_below bigint, p_limit integer, p_look integer)
returns table (tasks jsonb, looked_at integer, horizon bigint)
language plpgsql
stable
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
  if p_filter ->> 'state' not in ('waiting', 'expired') or coalesce(p_filter ->> 'worker', p_filter ->> 'error') is not null then
    return query select '[]'::jsonb, 0, 0::bigint;
    return;
  end if;
  return query
    with seen as materialized (
      select w.* from tock.waiting w where w.position < p_below order by w.position desc limit p_look
    ), judged as materialized (
      select s.*, case when (s.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp() then 'expired' else 'waiting' end as state
      from seen s
    ), found as (
      select j.* from judged j
      where coalesce(j.queue = p_filter ->> 'queue', true) and coalesce(j.state = p_filter ->> 'state', true)
        and coalesce(j.tenant = p_filter ->> 'tenant', p_filter ->> 'tenant' is null)
        and coalesce(j.created_at >= (p_filter ->> 'from')::timestamptz, true)
        and coalesce(j.created_at < (p_filter ->> 'to')::timestamptz, true)
        and (j.state = 'waiting' or coalesce((j.options ->> 'expires_at')::timestamptz
          >= pg_catalog.now() - (tock.policy(j.queue)).retention_seconds * interval '1 second', true))
      order by j.position desc limit p_limit
    )
    select coalesce((
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object('id', coalesce(f.task_id, f.position << 20)::text,
          'run_id', (f.position << 20)::text, 'queue', f.queue, 'state', f.state, 'priority', f.priority, 'tenant', f.tenant,
          'attempt', f.attempt, 'created_at', f.created_at,
          'run_at', case when pg_catalog.isfinite(coalesce(f.after_due, f.due_at)) then coalesce(f.after_due, f.due_at) end,
          'ended_at', case f.state when 'expired' then (f.options ->> 'expires_at')::timestamptz end, 'worker', null, 'error', null,
          'replaces', f.replaces is not null, 'at', f.position) order by f.position desc) from found f), '[]'),
      (select count(*)::integer from seen),
      coalesce((select case when count(*) >= p_look then min(s.position) end from seen s), 0);
end $$;

comment on function tock.search_waiting is 'What waits, for search_statement(): in the snapshot of the statement that asks.';

-- A replacement that came too late is no part of its task. What is asked here is asked after the search, so what has gone
-- on meanwhile is one of its task's runs, if no more the newest.
create or replace function tock.searched_page(p_tasks jsonb)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_asked bigint[] := array(
    select (case when (x.task ->> 'run_id')::bigint & 1048575 = 0 then x.task ->> 'id' else x.task ->> 'run_id' end)::bigint
    from pg_catalog.jsonb_array_elements(p_tasks) x (task)
    where (x.task ->> 'replaces')::boolean and x.task ->> 'state' in ('ready', 'waiting', 'cancelled', 'expired'));
  v_late bigint[];
begin
  if pg_catalog.cardinality(v_asked) > 0 then
    v_late := array(
      with asked as materialized (
        select (x.task ->> 'run_id')::bigint as run_id, (x.task ->> 'id')::bigint as id from pg_catalog.jsonb_array_elements(p_tasks) x (task)
        where (x.task ->> 'replaces')::boolean and x.task ->> 'state' in ('ready', 'waiting', 'cancelled', 'expired')
      ), here as materialized (select w.current_id from tock.whereabouts(v_asked) w)
      select a.run_id from asked a
      where a.run_id not in (select h.current_id from here h) and not exists (
        select from tock.task(a.id) t
        where t.runs @> pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('id', coalesce(
          (select p.run_id from tock.promotions p where p.position = a.run_id >> 20 and a.run_id & 1048575 = 0), a.run_id)::text))));
  end if;
  return (
    select coalesce(pg_catalog.jsonb_agg(x.task - 'at' - 'replaces' order by x.n), '[]')
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality x (task, n)
    where (x.task ->> 'run_id')::bigint <> all (coalesce(v_late, '{}')));
end $$;

comment on function tock.searched_page is 'A page without replacements that came too late.';
