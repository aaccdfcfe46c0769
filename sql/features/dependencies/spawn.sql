-- True if an ended run has spawned exactly these tasks, or none.
create or replace function tock.was_spawned_before(p_run tock.leased_run, p_spawn jsonb)
returns boolean language plpgsql stable as $$
begin
  return pg_catalog.hashtextextended(p_spawn::text, 0) is not distinct from (
    select r.digest from tock.requests r
    where r.verb = 'spawn' and r.queue = p_run.queue
      and r.request_id = tock.id_at(p_run.position, p_run.stream)::text);
end $$;

-- Makes the next waiting row of a task wait for spawned tasks: its payload is {payload, result} until the
-- results of the children are added. The task continues as one waiting row with the result of the completion,
-- without parents yet. spawn_all() calls this function before it enqueues the children, so that the unique
-- key of the task already counts as that of a started task. max_wait_seconds no longer applies.
create or replace function tock.begin_wait(p_position bigint, p_run_id bigint, p_result jsonb, p_field text)
returns void language plpgsql volatile as $$
declare
  v_row tock.waiting := (select w from tock.waiting w where w.position = p_position);
  v_policy tock.queues := tock.policy(v_row.queue);
  v_payload json := pg_catalog.json_build_object('result', p_result, 'payload',
    case when v_row.options ? 'resume' then tock.own_payload(v_row.payload, v_row.options)
      else v_row.payload end);
  v_bytes integer := pg_catalog.octet_length(v_payload::text);
  v_run_at timestamptz := (
    select (w.changes ->> 'run_at')::timestamptz
    from unnest(tock.pending_changes(array[v_row.task_id, p_run_id])) w
    where w.changes ? 'run_at' order by w.id = v_row.task_id desc limit 1);
begin
  if v_bytes > v_policy.max_payload_bytes and p_result is not null then
    perform tock.refuse(422,
      pg_catalog.format(
        'the payload and the result make up the payload of the continued task, and queue %s accepts payloads '
        'of up to %s bytes of JSON',
      v_row.queue, v_policy.max_payload_bytes), p_field,
      'store large data elsewhere and send its address, or raise max_payload_bytes of the queue');
  end if;
  update tock.waiting w set payload = v_payload, bytes = v_bytes,
    due_after_parents = greatest(pg_catalog.clock_timestamp(), v_run_at),
    lane = case when w.lane < 1024 then w.lane + 1024 else w.lane end,
    options = coalesce(w.options, '{}') - '{names,expires_at,wake_at}'::text[]
      || pg_catalog.jsonb_build_object('resume', true, 'depends_on', '[]'::jsonb,
      -- a payload that was changed before this point is already in this one
      'stage', coalesce(w.options -> 'stage', '{}') || pg_catalog.jsonb_build_object('after', p_position))
  where w.position = p_position;
end $$;

-- Makes the next waiting row of a task depend on others; TK422 if these wait for it. p_ids has the ids of the
-- tasks in order; tasks with the same unique key may share an id.
create or replace function tock.wait_for(p_position bigint, p_ids bigint[], p_spawn jsonb, p_field text)
returns void language plpgsql volatile as $$
begin
  update tock.waiting w set options = w.options || pg_catalog.jsonb_build_object(
    'on_parent_failure', coalesce(p_spawn ->> 'on_failure', 'run'),
    'depends_on', (
      select pg_catalog.jsonb_agg(i.id::text order by i.n)
      from (select i.id, min(i.n) as n from unnest(p_ids) with ordinality i (id, n) group by i.id) i))
    || (
      select case when count(*) > 0
        then pg_catalog.jsonb_build_object('names', pg_catalog.jsonb_object_agg(p_ids[t.n]::text,
          t.task ->> 'name'))
        else '{}' end
      from pg_catalog.jsonb_array_elements(p_spawn -> 'tasks') with ordinality t (task, n)
      where t.task ->> 'name' is not null)
  where w.position = p_position;
  perform tock.check_parents(array[p_position]);
  perform tock.refuse_self_wait(p_position, p_ids, p_spawn -> 'tasks', p_field || '.tasks');
end $$;

-- Enqueues the tasks that completed runs spawn, once, and makes the tasks that are to continue after them
-- wait.
create or replace function tock.spawn_all(p_segment integer, p_runs tock.leased_run[], p_results jsonb)
returns void language plpgsql volatile as $$
declare
  v_run tock.leased_run;
  v_spawn jsonb;
  v_item jsonb;
  v_next bigint;
  v_runs tock.leased_run[] := '{}';
  v_nexts bigint[] := '{}';
begin
  foreach v_run in array p_runs loop
    v_item := p_results -> (v_run.n - 1)::integer;
    v_spawn := v_item -> 'spawn';
    v_next := null;
    insert into tock.requests (verb, queue, request_id, digest, ids)
      values ('spawn', v_run.queue, tock.id_at(v_run.position, v_run.stream)::text,
        pg_catalog.hashtextextended(v_spawn::text, 0), '{}')
      on conflict do nothing;
    continue when not found;
    if coalesce((v_spawn ->> 'wait')::boolean, false) then
      execute pg_catalog.format(
        'select tock.position_of(e.next_id) from tock.results_%s e where e.stream = $1 and e.position = $2',
        p_segment)
        into v_next using v_run.stream, v_run.position;
      continue when v_next is null;  -- the task was cancelled
      perform tock.begin_wait(v_next, tock.id_at(v_run.position, v_run.stream),
        nullif(v_item -> 'result', 'null'), pg_catalog.format('results[%s].result', v_run.n - 1));
    end if;
    v_runs := v_runs || v_run;
    v_nexts := v_nexts || v_next;
  end loop;
  perform tock.enqueue_spawned(v_runs, p_results);
  for v_k in 1 .. pg_catalog.cardinality(v_runs) loop
    continue when v_nexts[v_k] is null;
    v_run := v_runs[v_k];
    perform tock.wait_for(v_nexts[v_k], (
      select r.ids from tock.requests r where r.verb = 'spawn' and r.queue = v_run.queue
        and r.request_id = tock.id_at(v_run.position, v_run.stream)::text),
      p_results -> (v_run.n - 1)::integer -> 'spawn',
      pg_catalog.format('results[%s].spawn', v_run.n - 1));
  end loop;
end $$;
