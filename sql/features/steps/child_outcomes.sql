-- The outcomes of those children that have ended, as steps.
create or replace function tock.child_outcomes(p_ids bigint[])
returns table (id bigint, state text, result jsonb, error jsonb) language plpgsql volatile as $$
#variable_conflict use_column
declare
  v_ends tock.resolved_task[] := tock.final_states_in_order(p_ids);
begin
  return query
    select r.id, case r.state when 'done' then 'done' else 'failed' end, r.result,
      case when r.state <> 'done' then pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object(
        'name', 'ChildFailed', 'message', pg_catalog.format('the task %s is %s', r.id, r.state),
        'id', r.id::text, 'state', r.state, 'error', (
          select (tock.run_at(e.current_id)).error from unnest(v_ends) e where e.n = r.n))) end
    from tock.results_of(p_ids, v_ends, true) r
    where r.state in ('done', 'dead', 'cancelled', 'expired', 'gone');
end $$;

-- Saves the outcomes of ended children as steps of the suspended tasks in these waiting rows.
create or replace function tock.save_child_outcomes(p_positions bigint[])
returns void language plpgsql volatile as $$
begin
  if p_positions = '{}' then
    return;
  end if;
  perform tock.take_slot();  -- no segment closes from here on, so the new positions are in an open one
  insert into tock.steps (position, task_id, kind, state, name, child_id, result, error, version)
  select pg_catalog.nextval('tock.positions'), s.task_id, 'child', o.state, s.name, o.id, o.result, o.error,
    s.version
  from (
    select w.task_id, s.name, s.child_id, s.version from tock.waiting w
    cross join lateral tock.steps_of(w.task_id, tock.steps_from(w.task_id, w.options)) s
    where w.position = any (p_positions) and s.kind = 'child' and s.state = 'waiting' offset 0) s
  cross join lateral tock.child_outcomes(array[s.child_id]) o;
end $$;
