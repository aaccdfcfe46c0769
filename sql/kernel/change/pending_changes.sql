-- Stores changes for the next attempts of tasks; p_found has their first and current runs. A change for the
-- next attempt is stored on the first run of the task and on its current run. The call that ends an attempt
-- reads both, since it may miss one: the segment of the first run may be dropped, and the attempt of the
-- current run may be ending at this moment. Later changes are merged into earlier ones, so each override has
-- all changes. A payload belongs to one stage: "at" is the run that was current when it was changed.
create or replace function tock.add_pending_changes(p_found tock.resolved_task[], p_changes jsonb)
returns void language sql volatile as $$
  insert into tock.run_overrides (stream, position, kind, changes)
  select tock.stream_of(i.id), tock.position_of(i.id), 'amended', p_changes
    || case when p_changes ? 'bytes' then pg_catalog.jsonb_build_object('at', i.current_id) else '{}' end
  from (
    select f.task_id as id, f.current_id from unnest(p_found) f
    union select f.current_id, f.current_id from unnest(p_found) f where f.state <> 'waiting') i
  where exists (select from tock.segments e where tock.position_of(i.id) >= e.first_position
    and tock.position_of(i.id) < e.end_position)
  order by 2, 1
  on conflict (stream, position, kind) do update set changes = tock.run_overrides.changes || excluded.changes
$$;

-- The pending changes of tasks, by the ids of their first or later runs: whether they are cancelled, and what
-- is changed (of a payload only its bytes). Ids without any are left out.
create or replace function tock.pending_changes(p_ids bigint[])
returns tock.pending_change[] language plpgsql volatile as $$
declare
  v_pending tock.pending_change[] := '{}';
  v_segment integer;
  v_part tock.pending_change[];
begin
  for v_segment in
    select e.number from tock.segments e
    where e.end_position > (select min(tock.position_of(i)) from unnest(p_ids) i)
      and e.first_position <= (select max(tock.position_of(i)) from unnest(p_ids) i)
      and exists (select from unnest(p_ids) i where tock.position_of(i) >= e.first_position
        and tock.position_of(i) < e.end_position)
  loop
    begin
      execute pg_catalog.format('select tock.pending_changes_%s($1)', v_segment) into v_part using p_ids;
    exception
      when undefined_table or undefined_function then v_part := '{}';  -- the segment was dropped meanwhile
    end;
    v_pending := v_pending || v_part;
  end loop;
  return v_pending;
end $$;

-- The payload in the pending change of a task or run.
create or replace function tock.changed_payload(p_id bigint)
returns jsonb language plpgsql volatile as $$
declare
  v_payload jsonb;
begin
  execute pg_catalog.format($q$
    select nullif(m.changes -> 'payload', 'null') from tock.run_overrides_%s m
    where m.stream = $1 and m.position = $2 and m.kind = 'amended'$q$,
      tock.segment_of(tock.position_of(p_id)))
    into v_payload using tock.stream_of(p_id), tock.position_of(p_id);
  return v_payload;
end $$;
