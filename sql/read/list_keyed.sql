-- The task that had a unique key last, or the tasks of a concurrency key: first its holders, then its
-- waiters. The holder of a unique key, and the holders and waiters of a concurrency key, are found in their
-- own tables. At most 2,000 of each are looked at.
create or replace function tock.list_keyed(p_filter jsonb, p_limit integer)
returns jsonb language plpgsql volatile as $$
declare
  v_queue text := p_filter ->> 'queue';
  v_ids bigint[] := array(
    select k.task_id from tock.unique_keys k
    where k.queue = v_queue and k.unique_key = p_filter ->> 'unique_key' order by k.number desc limit 1);
begin
  if p_filter ->> 'concurrency_key' is not null then
    v_ids := v_ids || array(
      select i from tock.concurrency_keys(v_queue, p_filter ->> 'concurrency_key') g, unnest(g.holders) i
      limit 2000);
    v_ids := v_ids || array(
      select coalesce(w.task_id, tock.id_at(w.position, 0)) from tock.waiting w
      where w.lost >= 0 and w.queue = v_queue and w.concurrency_key = p_filter ->> 'concurrency_key'
        and w.ticket is not null
      order by w.queue, w.concurrency_key, w.ticket limit 2000);
  end if;
  return (
    select coalesce(pg_catalog.jsonb_agg(l.task order by l.n), '[]') from (
    select u.n, pg_catalog.jsonb_build_object('id', t.id::text,
      'run_id', coalesce(t.runs -> -1 ->> 'id', t.id::text),
      'queue', t.queue, 'state', t.state, 'priority', t.priority, 'tenant', t.tenant, 'attempt', t.attempt,
      'created_at', t.created_at, 'run_at', t.run_at, 'started_at', t.runs -> -1 -> 'started_at',
      'ended_at', t.ended_at, 'worker', t.runs -> -1 ->> 'worker', 'error', tock.error_text(t.error),
      'preview', tock.preview(t.payload, pg_catalog.pg_column_size(t.payload)), 'rerun', t.reruns <> '[]',
      'cancel_requested', coalesce((t.runs -> -1 ->> 'cancel_requested')::boolean, false),
      'waiting_for', w.reason, 'concurrency_key', t.options ->> 'concurrency_key') as task
    from (select i, min(n) as n from unnest(v_ids) with ordinality v (i, n) group by i order by 2) u
    cross join lateral tock.task(u.i) t
    left join lateral (
      select coalesce(w.waits_for, case when w.due_after_parents is not null then 'dependency'
        when w.ticket is not null then 'concurrency_key' else 'time' end) as reason
      from tock.resolve_tasks(array[t.id]) r
      join tock.waiting w on w.position = any (array[tock.position_of(r.current_id)])
      where t.state = 'waiting') w on true
    where coalesce(t.state = p_filter ->> 'state', true)
      and coalesce(p_filter ->> 'waiting_for' = w.reason, p_filter ->> 'waiting_for' is null)
      and (p_filter -> 'payload' is null or t.payload::jsonb @> (p_filter -> 'payload'))
      and coalesce(t.tenant = p_filter ->> 'tenant', p_filter ->> 'tenant' is null)
      and coalesce(t.runs -> -1 ->> 'worker' = p_filter ->> 'worker', p_filter ->> 'worker' is null)
      and coalesce(tock.error_text(t.error) = p_filter ->> 'error', p_filter ->> 'error' is null)
      and coalesce((t.reruns <> '[]') = (p_filter ->> 'rerun')::boolean, true)
      and coalesce(t.created_at >= (p_filter ->> 'from')::timestamptz, true)
      and coalesce(t.created_at < (p_filter ->> 'to')::timestamptz, true)
    order by u.n limit p_limit) l);
end $$;
