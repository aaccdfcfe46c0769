-- Raises TK422 for an invalid spawn, TK403 if the role of the caller may not enqueue. The statement that
-- completes a run may also spawn tasks. The task of that run may then wait for them and continue with their
-- results, as another run. The spawned ids are stored with the request ids, under the id of the run. A
-- repeated call therefore spawns nothing twice, and a call with other tasks counts as a different call.
create or replace function tock.check_spawns(p_results jsonb)
returns void language plpgsql stable as $$
declare
  -- the role of the caller: current_user is the owner of complete() here
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
      perform tock.refuse(422, 'spawn must be an object with tasks, and if needed queue, wait and on_failure',
        v_field);
    elsif (case when pg_catalog.jsonb_typeof(v_spawn -> 'tasks') = 'array'
      then pg_catalog.jsonb_array_length(v_spawn -> 'tasks') = 0 else true end)
    then
      perform tock.refuse(422, 'tasks must be an array of one task or more', v_field || '.tasks');
    elsif pg_catalog.jsonb_typeof(coalesce(v_spawn -> 'wait', 'null')) not in ('boolean', 'null') then
      perform tock.refuse(422, 'wait must be true or false', v_field || '.wait');
    elsif coalesce(v_spawn ->> 'on_failure', 'run') not in ('run', 'cancel', 'wait') then
      perform tock.refuse(422, 'on_failure must be run, cancel or wait', v_field || '.on_failure');
    elsif v_spawn ->> 'on_failure' is not null and not coalesce((v_spawn ->> 'wait')::boolean, false) then
      perform tock.refuse(422, 'on_failure needs wait', v_field || '.on_failure');
    elsif coalesce((v_spawn ->> 'wait')::boolean, false) and (p_results -> v_n) ? 'stage' then
      perform tock.refuse(422, 'a task that waits for others continues in its stage: leave out stage',
        v_field || '.wait');
    elsif coalesce((v_spawn ->> 'wait')::boolean, false)
      and pg_catalog.jsonb_array_length(v_spawn -> 'tasks') > 10000
    then
      perform tock.refuse(422, 'a task can wait for up to 10,000 others', v_field || '.tasks');
    elsif pg_catalog.jsonb_path_exists(v_spawn, '$.tasks[*].unique_key ? (@ != null)') then
      perform tock.refuse_named_keys(v_spawn -> 'tasks', v_field || '.tasks');
    end if;
  end loop;
end $$;
