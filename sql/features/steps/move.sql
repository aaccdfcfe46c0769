-- Moves the steps of tasks that do not end in a segment out of it, before its drop; returns the number of
-- tasks that it looked at. The steps get new positions, so they are dropped with a later segment. The last
-- run of a task may also lie in an earlier segment that is kept for longer.
create or replace function tock.move_steps(p_segment integer, p_limit integer)
returns integer language plpgsql volatile as $$
declare
  v_from bigint := (select e.steps_moved_to from tock.segments e where e.number = p_segment);
  v_ids bigint[];
  v_going_on tock.resolved_task[];
begin
  execute pg_catalog.format($q$
    select array(select distinct s.task_id from tock.steps_%s s where s.task_id > $1
      order by s.task_id limit $2)$q$, p_segment)
    into v_ids using coalesce(v_from, -1), least(p_limit, 1000);
  if v_ids = '{}' then
    return 0;
  end if;
  v_going_on := array(
    select w from tock.resolve_tasks(v_ids) w
    where tock.stream_of(w.current_id) = 0
      or tock.segment_of(tock.position_of(w.current_id)) <> p_segment);
  execute pg_catalog.format($q$
    with moved as (
      delete from tock.steps_%s s using (
        -- a promotion may have made the waiting task a run meanwhile
        with present as materialized (
          select w.task_id, coalesce((
            select p.run_id from tock.promotions p
            where tock.stream_of(w.current_id) = 0 and p.position = tock.position_of(w.current_id)),
            w.current_id) as current_id
          from unnest($1) w)
        select w.task_id, tock.steps_from(w.task_id, r.options) as after
        from present w join tock.stored_runs(array(select v.current_id from present v)) r
          on r.id = w.current_id
        offset 0) t
      where s.task_id = any (array[t.task_id]) and s.position > t.after
      returning s.*)
    insert into tock.steps (position, task_id, saved_at, due_at, child_id, version, unused, kind, state, name,
      event, result, error)
    select pg_catalog.nextval('tock.positions'), m.task_id, m.saved_at, m.due_at, m.child_id, m.version,
      m.unused, m.kind, m.state, m.name, m.event, m.result, m.error
    from (select * from moved order by position) m$q$, p_segment) using v_going_on;
  update tock.segments e set steps_moved_to = v_ids[pg_catalog.cardinality(v_ids)]
  where e.number = p_segment;
  return pg_catalog.cardinality(v_ids);
end $$;
