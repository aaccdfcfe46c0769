-- The waiting tasks for list_runs_N(), in the snapshot of the calling statement.
create or replace function tock.list_waiting(
  p_filter jsonb, p_below bigint, p_limit integer, p_scan_limit integer)
returns table (tasks jsonb, scanned integer, horizon bigint) language plpgsql stable
set enable_hashjoin = off as $$
declare
  v_groups boolean := coalesce(p_filter ->> 'waiting_for' = 'dependency', false);
  v_in_steps boolean := coalesce(p_filter ->> 'waiting_for' in ('child', 'event'), false);
begin
  if p_filter ->> 'state' not in ('waiting', 'expired')
    or coalesce(p_filter ->> 'worker', p_filter ->> 'error') is not null
    or (p_filter ->> 'rerun')::boolean and p_filter ->> 'state' = 'waiting' then
    return query select '[]'::jsonb, 0, 0::bigint;
    return;
  end if;
  return query
    with seen as materialized (
      (select w.* from tock.waiting w
       where not v_groups and p_filter ->> 'queue' is null and w.position < p_below
       order by w.position desc limit p_scan_limit)
      union all
      (select w.* from tock.waiting w
       where v_groups and p_filter ->> 'queue' is null and w.due_after_parents is not null
         and w.lost >= 0 and w.position < p_below
       order by w.position desc limit p_scan_limit)
      union all
      (select w.* from tock.waiting w
       where v_groups and w.queue = p_filter ->> 'queue' and w.due_after_parents is not null
         and w.lost >= 0 and w.position < p_below
       order by w.queue desc, w.position desc limit p_scan_limit)
      union all
      (select w.* from tock.waiting w
       where v_in_steps and w.queue = p_filter ->> 'queue' and w.waits_for = p_filter ->> 'waiting_for'
         and w.lost >= 0 and w.position < p_below
       order by w.queue desc, w.waits_for desc, w.position desc limit p_scan_limit)
      union all
      (select w.* from tock.waiting w
       -- not an equality: with one, a plan might read all queues by position alone
       where not v_groups and not v_in_steps and (w.queue, w.position) < (p_filter ->> 'queue', p_below)
         and w.queue >= p_filter ->> 'queue' and w.lost >= 0
       order by w.queue desc, w.position desc limit p_scan_limit)
    ), judged as materialized (
      select s.*, e.state, e.state = 'expired' and (select x.of_id from tock.reruns x
        where x.of_id = coalesce(s.task_id, tock.id_at(s.position, 0)) limit 1) is not null as rerun,
        case when e.state = 'waiting' then coalesce(s.waits_for, case
          when s.due_after_parents is not null then 'dependency'
          when s.ticket is not null then 'concurrency_key' else 'time' end) end as reason
      from seen s cross join lateral (
        select case when (s.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp()
          then 'expired' else 'waiting' end as state offset 0) e
    ), found as (
      select j.* from judged j
      where coalesce(j.state = p_filter ->> 'state', true)
        and coalesce(p_filter ->> 'waiting_for' = j.reason, p_filter ->> 'waiting_for' is null)
        and (p_filter -> 'payload' is null or j.payload::jsonb @> (p_filter -> 'payload'))
        and coalesce(j.rerun = (p_filter ->> 'rerun')::boolean, true)
        and coalesce(j.tenant = p_filter ->> 'tenant', p_filter ->> 'tenant' is null)
        and coalesce(j.created_at >= (p_filter ->> 'from')::timestamptz, true)
        and coalesce(j.created_at < (p_filter ->> 'to')::timestamptz, true)
        and coalesce(j.priority <> (p_filter ->> 'not_priority')::integer, true)
        and (j.state = 'waiting' or coalesce((j.options ->> 'expires_at')::timestamptz
          >= pg_catalog.now() - (tock.policy(j.queue)).retention_seconds * interval '1 second', true))
      order by j.position desc limit p_limit
    )
    select coalesce((
        select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
          'id', coalesce(f.task_id, tock.id_at(f.position, 0))::text,
          'run_id', tock.id_at(f.position, 0)::text, 'queue', f.queue, 'state', f.state,
          'priority', f.priority, 'tenant', f.tenant, 'attempt', f.attempt, 'created_at', f.created_at,
          'run_at', nullif(coalesce(f.due_after_parents, f.due_at), 'infinity'), 'started_at', null,
          'ended_at', case f.state when 'expired' then (f.options ->> 'expires_at')::timestamptz end,
          'worker', null, 'error', null, 'cancel_requested', false, 'waiting_for', f.reason,
          'concurrency_key', f.concurrency_key, 'preview', tock.preview(f.payload, f.bytes),
          'rerun', f.rerun, 'at', f.position) order by f.position desc) from found f), '[]'),
      (select count(*)::integer from seen),
      coalesce((select case when count(*) >= p_scan_limit then min(s.position) end from seen s), 0);
end $$;
