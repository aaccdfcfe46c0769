-- A run that is done may leave tasks behind, in the statement that completes it, and its task may wait for
-- them and go on: as a run of its own, with their results. What was spawned is kept with the request ids,
-- under the run's id: so a call that is made again spawns nothing twice, and one
-- with other tasks is another call.
create or replace function tock.check_spawns(p_results jsonb)
returns void
language plpgsql
stable
as $$
declare
  -- whoever calls: in here current_user is the owner of complete()
  v_role text := coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user);
  v_spawn jsonb;
  v_field text;
begin
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_results) - 1 loop
    v_spawn := nullif(p_results -> v_n -> 'spawn', 'null');
    continue when v_spawn is null;
    v_field := pg_catalog.format('results[%s].spawn', v_n);
    if not pg_catalog.has_function_privilege(v_role, 'tock.enqueue(text, jsonb, text)', 'execute') then
      perform tock.refuse(403, pg_catalog.format('role %s may not enqueue', v_role), v_field,
        'grant it tock_producer');
    elsif pg_catalog.jsonb_typeof(v_spawn) <> 'object'
      or v_spawn - '{queue,tasks,wait,on_failure}'::text[] <> '{}'
    then
      perform tock.refuse(422, 'spawn is an object of queue, tasks, wait, on_failure', v_field);
    elsif (case when pg_catalog.jsonb_typeof(v_spawn -> 'tasks') = 'array'
      then pg_catalog.jsonb_array_length(v_spawn -> 'tasks') = 0 else true end)
    then
      perform tock.refuse(422, 'tasks is an array of one task or more', v_field || '.tasks');
    elsif pg_catalog.jsonb_typeof(coalesce(v_spawn -> 'wait', 'null')) not in ('boolean', 'null') then
      perform tock.refuse(422, 'wait is true or false', v_field || '.wait');
    elsif coalesce(v_spawn ->> 'on_failure', 'run') not in ('run', 'cancel', 'wait') then
      perform tock.refuse(422, 'on_failure is run or cancel or wait', v_field || '.on_failure');
    elsif v_spawn ->> 'on_failure' is not null and not coalesce((v_spawn ->> 'wait')::boolean, false) then
      perform tock.refuse(422, 'on_failure is for a task that waits: give wait', v_field || '.on_failure');
    elsif coalesce((v_spawn ->> 'wait')::boolean, false) and (p_results -> v_n) ? 'stage' then
      perform tock.refuse(422, 'a task that waits for others goes on where it is: leave out stage',
        v_field || '.wait');
    elsif coalesce((v_spawn ->> 'wait')::boolean, false)
      and pg_catalog.jsonb_array_length(v_spawn -> 'tasks') > 10000
    then
      perform tock.refuse(422, 'a task waits for up to 10,000 others', v_field || '.tasks');
    elsif pg_catalog.jsonb_path_exists(v_spawn, '$.tasks[*].unique_key ? (@ != null)') then
      perform tock.refuse_named_keys(v_spawn -> 'tasks', v_field || '.tasks');
    end if;
  end loop;
end $$;

comment on function tock.check_spawns is
  'Raises TK422 for what no run can spawn, TK403 where the caller''s role may not enqueue.';
