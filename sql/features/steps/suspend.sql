-- Marks the waiting rows of tasks that sleep or wait for an event or for children of their steps. suspended
-- is the position of the row, which tells it from the rows of later attempts. Such a task counts as started,
-- so it no longer expires. Its claim returns its steps. It keeps its concurrency key if p_keeps says so, and
-- always the key of its unique key. p_children has the ids of children by the place in p_ended: the task
-- waits for them as for parents, but at wake_at another step is due, and it continues without them.
create or replace function tock.mark_suspended(
  p_ended tock.ending[], p_keeps boolean[], p_events boolean[], p_children jsonb)
returns void language plpgsql volatile as $$
declare
  v_children bigint[];
begin
  with marked as (
    update tock.waiting w set
      lane = case when w.lane < 1024 then w.lane + 1024 else w.lane end,
      waits_for = case when n.children is not null then 'child' when n.event then 'event' end,
      due_after_parents = case when n.children is not null then pg_catalog.clock_timestamp() end,
      options = coalesce(w.options, '{}') - '{keeps_key,expires_at,wake_at}'::text[]
        || pg_catalog.jsonb_build_object('suspended', w.position::text)
        || case when n.keeps or w.concurrency_key like 'key:%' then '{"keeps_key": true}' else '{}' end::jsonb
        || case when n.children is null then '{}' else pg_catalog.jsonb_build_object('depends_on', n.children,
          'on_parent_failure', 'run', 'wake_at', w.due_at) end
    from (
      select tock.position_of(r.next_id) as position, e.keeps, e.event, p_children -> e.n::text as children
      from unnest(p_ended, p_keeps, p_events) with ordinality
        e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, keeps, event, n)
      cross join lateral (
        select r.next_id from tock.results r
        where r.stream = e.stream and r.position = e.position and r.next_id & 1048575 = 0 offset 0) r
      offset 0) n
    where w.position = any (array[n.position])
    returning w.position, w.due_after_parents)
  select pg_catalog.array_agg(m.position order by m.position) into v_children
  from marked m where m.due_after_parents is not null;
  if v_children is not null then
    perform tock.check_parents(v_children);
  end if;
end $$;
