-- Enqueues the child of a step and returns its id; p_field is the field of the step.
create or replace function tock.invoke(p_task_id bigint, p_invoke jsonb, p_field text)
returns bigint language plpgsql volatile as $$
declare
  -- the role of the caller: current_user is the owner of save_steps() here
  v_role text := coalesce(nullif(pg_catalog.current_setting('role'), 'none'), session_user);
  v_code text;
  v_message text;
  v_detail text;
  v_hint text;
begin
  if not pg_catalog.has_function_privilege(v_role, 'tock.enqueue(text, jsonb, text)', 'execute') then
    perform tock.refuse(403, pg_catalog.format('role %s may not enqueue', v_role), p_field || '.invoke',
      'grant it tock_producer');
  end if;
  perform tock.check_queue(p_invoke ->> 'queue', 'queue', 422);
  return (tock.enqueue(p_invoke ->> 'queue', pg_catalog.jsonb_build_array(
    pg_catalog.jsonb_build_object('parent', p_task_id::text) || (p_invoke - 'queue'))))[1];
exception
  when sqlstate 'TK409' or sqlstate 'TK422' or sqlstate 'TK503' then
    get stacked diagnostics v_code = returned_sqlstate, v_message = message_text,
      v_detail = pg_exception_detail, v_hint = pg_exception_hint;
    perform tock.refuse(pg_catalog.right(v_code, 3)::integer, v_message,
      p_field || '.invoke'
        || coalesce('.' || nullif(pg_catalog.regexp_replace(v_detail, '^tasks\[0\]\.?', ''), ''), ''),
      nullif(v_hint, ''));
end $$;
