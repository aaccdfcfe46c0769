-- A run that is done may leave tasks behind, in the statement that completes it, and its task may wait for them and
-- go on: as a run of its own, with their results. What was spawned is kept with the request ids, under the run's id:
-- so a call that is made again spawns nothing twice, and one with other tasks is another call.
create or replace function tock.check_spawns(p_results jsonb)
returns void
language plpgsql
stable
as $$
declare
  v_spawn jsonb;
  v_field text;
begin
  for v_n in 0 .. pg_catalog.jsonb_array_length(p_results) - 1 loop
    v_spawn := nullif(p_results -> v_n -> 'spawn', 'null');
    continue when v_spawn is null;
    v_field := pg_catalog.format('results[%s].spawn', v_n);
    if not pg_catalog.has_function_privilege(session_user, 'tock.enqueue(text, jsonb, text)', 'execute') then
      perform tock.refuse(403, pg_catalog.format('role %s may not enqueue', session_user), v_field, 'grant it tock_producer');
    elsif pg_catalog.jsonb_typeof(v_spawn) <> 'object' or v_spawn - '{queue,tasks,wait,on_failure}'::text[] <> '{}' then
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
      perform tock.refuse(422, 'a task that waits for others goes on where it is: leave out stage', v_field || '.wait');
    elsif coalesce((v_spawn ->> 'wait')::boolean, false) and pg_catalog.jsonb_array_length(v_spawn -> 'tasks') > 10000 then
      perform tock.refuse(422, 'a task waits for up to 10,000 others', v_field || '.tasks');
    end if;
  end loop;
end $$;

comment on function tock.check_spawns is 'Raises TK422 for what no run can spawn, TK403 where the session''s role may not enqueue.';

create or replace function tock.spawned_so(p_run tock.leased_run, p_spawn jsonb)
returns boolean
language plpgsql
stable
as $$
declare
  v_digest bigint := (
    select r.digest from tock.requests r
    where r.verb = 'spawn' and r.queue = p_run.queue and r.request_id = (p_run.position << 20 | p_run.stream)::text);
begin
  return v_digest is not distinct from pg_catalog.hashtextextended(p_spawn::text, 0);
end $$;

comment on function tock.spawned_so is 'Whether a run that ended before left these tasks behind, or none.';

create or replace function tock.spawn(p_epoch integer, p_run tock.leased_run, p_spawn jsonb, p_result jsonb, p_field text)
returns void
language plpgsql
volatile
as $$
declare
  v_run_id bigint := p_run.position << 20 | p_run.stream;
  v_wait boolean := coalesce((p_spawn ->> 'wait')::boolean, false);
  v_next bigint;
  v_ids bigint[];
  v_message text;
  v_detail text;
  v_hint text;
begin
  insert into tock.requests (verb, queue, request_id, digest, ids)
    values ('spawn', p_run.queue, v_run_id::text, pg_catalog.hashtextextended(p_spawn::text, 0), '{}')
    on conflict do nothing;
  if not found then
    return;
  end if;
  if v_wait then
    execute pg_catalog.format('select e.next_id >> 20 from tock.results_%s e where e.stream = $1 and e.position = $2', p_epoch)
      into v_next using p_run.stream, p_run.position;
    if v_next is null then
      return;  -- somebody wanted it cancelled
    end if;
  end if;
  begin
    v_ids := tock.enqueue(coalesce(p_spawn ->> 'queue', p_run.queue), (
      select pg_catalog.jsonb_agg(case pg_catalog.jsonb_typeof(t.task) when 'object'
        then t.task || pg_catalog.jsonb_build_object('parent', p_run.id::text) else t.task end order by t.n)
      from pg_catalog.jsonb_array_elements(p_spawn -> 'tasks') with ordinality t (task, n)));
  exception
    when sqlstate 'TK422' then
      get stacked diagnostics v_message = message_text, v_detail = pg_exception_detail, v_hint = pg_exception_hint;
      perform tock.refuse(422, v_message, p_field || '.' || v_detail, nullif(v_hint, ''));
  end;
  update tock.requests r set ids = v_ids
  where r.verb = 'spawn' and r.queue = p_run.queue and r.request_id = v_run_id::text;
  if v_wait then
    update tock.waiting w
    set after_due = pg_catalog.clock_timestamp(),
      lane = case when w.lane < 1024 then w.lane + 1024 else w.lane end,
      options = coalesce(w.options, '{}') - 'names' || pg_catalog.jsonb_build_object('resume', true, 'after', pg_catalog.to_jsonb(v_ids::text[]),
        'on_parent_failure', coalesce(p_spawn ->> 'on_failure', 'run'),
        -- a payload that is wanted until it goes on is in this one
        'stage', coalesce(w.options -> 'stage', '{}') || pg_catalog.jsonb_build_object('after', v_next)),
      payload = case when w.options ? 'resume' then w.payload - 'children' || pg_catalog.jsonb_build_object('result', p_result)
        else pg_catalog.jsonb_build_object('payload', w.payload, 'result', p_result) end
    where w.position = v_next;
    perform tock.look_at_parents(array[v_next]);
  end if;
end $$;

comment on function tock.spawn is
  'Enqueues what a run that was done leaves behind, once; a task that waits for these comes after them, its payload being {payload, result} until their results are added.';
