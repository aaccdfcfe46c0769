-- Marks the waiting rows of tasks that sleep or wait for an event. suspended is the position of the row,
-- which tells it from the rows of later attempts. Such a task counts as started, so it no longer expires. Its
-- claim returns its steps. It keeps its concurrency key if p_keeps says so, and always the key of its unique
-- key.
create or replace function tock.mark_suspended(p_ended tock.ending[], p_keeps boolean[])
returns void language sql volatile as $$
  update tock.waiting w set
    lane = case when w.lane < 1024 then w.lane + 1024 else w.lane end,
    options = coalesce(w.options, '{}') - '{keeps_key,expires_at,wake_at}'::text[]
      || pg_catalog.jsonb_build_object('suspended', w.position::text)
      || case when n.keeps or w.concurrency_key like 'key:%' then '{"keeps_key": true}' else '{}' end::jsonb
  from (
    select tock.position_of(r.next_id) as position, e.keeps
    from unnest(p_ended, p_keeps)
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, keeps)
    cross join lateral (
      select r.next_id from tock.results r
      where r.stream = e.stream and r.position = e.position and r.next_id & 1048575 = 0 offset 0) r
    offset 0) n
  where w.position = any (array[n.position])
$$;

-- Makes suspended tasks wait for the children of their steps too, as for parents: p_children has the ids of
-- the children by the place in p_ended. At wake_at another step is due, and the task continues without them.
create or replace function tock.wait_for_invoked(p_ended tock.ending[], p_children jsonb)
returns void language plpgsql volatile as $$
declare
  v_positions bigint[] := '{}';
begin
  with suspended as (
    select tock.position_of(r.next_id) as position, p_children -> e.n::text as children
    from unnest(p_ended) with ordinality
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
    cross join lateral (
      select r.next_id from tock.results r
      where r.stream = e.stream and r.position = e.position and r.next_id & 1048575 = 0 offset 0) r
    where p_children ? e.n::text
  ), changed as (
    update tock.waiting w set due_after_parents = pg_catalog.clock_timestamp(),
      options = w.options || pg_catalog.jsonb_build_object('depends_on', s.children,
        'on_parent_failure', 'run', 'wake_at', w.due_at)
    from (select s.* from suspended s offset 0) s
    where w.position = any (array[s.position])
    returning w.position)
  select array(select c.position from changed c order by c.position) into v_positions;
  perform tock.check_parents(v_positions);
end $$;
