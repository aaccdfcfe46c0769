create or replace function tock.next_stage(p_options jsonb, p_queue text, p_item jsonb, p_field text)
returns text
language plpgsql
stable
as $$
declare
  v_pipeline jsonb := p_options -> 'pipeline';
  v_stage jsonb := p_item -> 'stage';
begin
  if v_stage is null then
    return v_pipeline ->> (
      select s.n::integer from pg_catalog.jsonb_array_elements_text(v_pipeline) with ordinality s (stage, n)
      where s.stage = p_queue);
  elsif v_pipeline is null then
    perform tock.refuse(422, 'this task has no pipeline, so it has no stages', p_field, 'leave out stage');
  elsif v_stage <> 'null' and not (case when pg_catalog.jsonb_typeof(v_stage) = 'string' then v_pipeline ? (v_stage #>> '{}')
    else false end)
  then
    perform tock.refuse(422, 'stage is one of this task''s pipeline, or null to end the task here', p_field,
      'its stages: ' || (select pg_catalog.string_agg(s, ', ') from pg_catalog.jsonb_array_elements_text(v_pipeline) s));
  end if;
  return v_stage #>> '{}';
end $$;

comment on function tock.next_stage is
  'The queue where a task goes on whose run in p_queue is done: the stage that is named, or else the next; null when it ends. TK422 for one that is none of its.';

create or replace function tock.stage_policy(p_queue text)
returns tock.queues
language plpgsql
volatile
as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
begin
  if v_policy.name = '*' then
    perform tock.make_queue(p_queue);
  end if;
  v_policy.name := p_queue;
  return v_policy;
end $$;

comment on function tock.stage_policy is 'The policy of a stage''s queue, which is made if it is new.';

create or replace function tock.check_stage_takes(p_policy tock.queues, p_payload jsonb, p_field text)
returns void
language plpgsql
stable
as $$
begin
  if pg_catalog.octet_length(p_payload::text) > p_policy.max_payload_bytes then
    perform tock.refuse(422, pg_catalog.format('the result is the payload of the next stage, and queue %s takes payloads of up to %s bytes of JSON',
      p_policy.name, p_policy.max_payload_bytes), p_field, 'keep large data elsewhere and send where it is, or raise the queue''s max_payload_bytes');
  end if;
end $$;

comment on function tock.check_stage_takes is 'Raises TK422 for a result that is too large to be the next stage''s payload.';

create or replace function tock.unchanged_fields(p_ended tock.ending[], p_runs tock.leased_run[], p_all boolean)
returns text[]
language plpgsql
immutable
as $$
begin
  return array(
    select case when e.queue is null or e.payload is not null then null
      when p_all then 'results' else pg_catalog.format('results[%s].result', r.n - 1) end
    from unnest(p_ended) with ordinality
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
    join (select u.position, min(u.n) as n from unnest(p_runs) u group by u.position) r on r.position = e.position
    order by e.n);
end $$;

comment on function tock.unchanged_fields is 'The fields of what leads on to another stage without a result, in the order of p_ended, null for the others; p_all: they were completed as a whole lease.';

-- As it goes on: a wish that is heeded may have changed it.
create or replace function tock.check_stages_take(p_again tock.going[], p_fields text[])
returns void
language plpgsql
stable
as $$
declare
  v_next tock.going;
  v_policy tock.queues;
begin
  foreach v_next in array p_again loop
    continue when v_next.cancelled or v_next.position is null or p_fields[v_next.n] is null;
    if v_policy.name is distinct from v_next.queue then
      v_policy := tock.policy(v_next.queue);
      v_policy.name := v_next.queue;
    end if;
    if v_next.bytes > v_policy.max_payload_bytes then
      perform tock.refuse(422, pg_catalog.format('without a result task %s takes its payload along, and queue %s takes payloads of up to %s bytes of JSON',
        v_next.task_id, v_policy.name, v_policy.max_payload_bytes), p_fields[v_next.n],
        'complete it with a smaller result, or raise the queue''s max_payload_bytes');
    end if;
  end loop;
end $$;

comment on function tock.check_stages_take is
  'Raises TK422, naming the field, for the first payload that goes on as it is and is too large for the next stage.';

-- A gate goes on: it is that of the same name in the other queue. So does expires_at, if the task asked for it itself.
create or replace function tock.options_in(p_options jsonb, p_queue text, p_after bigint)
returns jsonb
language plpgsql
stable
as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_own jsonb := p_options -> 'stage';
begin
  return nullif(pg_catalog.jsonb_strip_nulls(coalesce(p_options, '{}') - '{gathered,resume}'::text[] || pg_catalog.jsonb_build_object(
    'timeout_seconds', coalesce(v_own -> 'timeout_seconds', pg_catalog.to_jsonb(v_policy.timeout_seconds)),
    'expires_at', coalesce(v_own -> 'expires_at', pg_catalog.to_jsonb(
      pg_catalog.clock_timestamp() + v_policy.max_wait_seconds * interval '1 second')),
    'stage', case when p_options ? 'pipeline' then coalesce(v_own, '{}') || pg_catalog.jsonb_build_object('after', p_after) end)), '{}');
end $$;

comment on function tock.options_in is
  'The options of a task that goes on in another queue, after the run at this position: its own, and what that queue asks for.';

create or replace function tock.led_to(p_next_id bigint)
returns text
language sql
stable
as $$
  select coalesce(
    (select s.queue from tock.streams s where s.number = p_next_id & 1048575),
    (select w.queue from tock.waiting w where w.position = p_next_id >> 20),
    (select s.queue from tock.promotions p join tock.streams s on s.number = p.run_id & 1048575
     where p.position = p_next_id >> 20))
$$;

comment on function tock.led_to is 'The queue where a task went on with its next run or waiting entry; null when it didn''t.';

create or replace function tock.ended_so(p_run tock.leased_run, p_stages boolean, p_stage text)
returns boolean
language plpgsql
stable
as $$
begin
  return case
    when not p_stages then p_run.state = 'done' and p_run.next_id is null
    when p_run.state = 'done' then coalesce(tock.led_to(p_run.next_id), '') = coalesce(p_stage, '')
    -- it was done, and its task had been cancelled
    else p_run.state = 'cancelled' and p_run.error is not distinct from 'null' and p_stage is not null end;
end $$;

comment on function tock.ended_so is 'Whether a run that ended before ended as done and led to this stage, null for none.';
