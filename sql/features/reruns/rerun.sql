-- Each call runs the tasks again, except a repetition with the same request id. Two concurrent calls both run
-- them: a call that finds its number in reruns taken uses the next. A request id counts in each queue of the
-- tasks. So no caller can use up the ids of another, and each queue stores the answer for its own tasks.
-- Calls with the same id wait for each other at the lock of that id in the first queue.
create or replace function tock.rerun(
  p_ids bigint[], p_request_id text default null, p_reason text default null, p_again boolean default true,
  p_from_step text default null)
returns table (id bigint, state text, rerun_id bigint, refused text) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s'
set plan_cache_mode = auto as $$
#variable_conflict use_column
declare
  v_ids bigint[] := tock.check_ids(p_ids);
  v_digest bigint := pg_catalog.hashtextextended(pg_catalog.jsonb_build_array(v_ids, p_reason, p_again,
    p_from_step)::text, 0);
  v_queues text[];
  v_queue text;
  v_kept integer;
  v_tasks tock.resolved_task[];
  v_ended tock.resolved_task[];
  v_left tock.resolved_task[];
  v_made tock.resolved_task[] := '{}';
  v_answer jsonb;
begin
  p_again := coalesce(p_again, true);
  perform tock.check_read_committed('rerun');
  if p_from_step is not null and pg_catalog.cardinality(v_ids) <> 1 then
    perform tock.refuse(422, 'from_step needs exactly one id', 'from_step');
  end if;
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  v_tasks := tock.resolve_each_task(v_ids);
  if p_request_id is not null then
    v_queues := array(select distinct f.queue from unnest(v_tasks) f order by 1);
    perform tock.request_seen('rerun', v_queues[1], p_request_id, v_digest);
    v_queue := (
      select r.queue from tock.requests r
      where r.queue = any (v_queues) and r.verb = 'rerun' and r.request_id = p_request_id
        and r.digest <> v_digest limit 1);
    if v_queue is not null then
      perform tock.request_seen('rerun', v_queue, p_request_id, v_digest);
    end if;
    v_answer := (
      select pg_catalog.jsonb_agg(a.value) from tock.requests r
      cross join pg_catalog.jsonb_array_elements(r.answer) a
      where r.queue = any (v_queues) and r.verb = 'rerun' and r.request_id = p_request_id);
  end if;
  if v_answer is null then
    v_ended := array(select f from unnest(v_tasks) f
      where f.state in ('done', 'dead', 'cancelled', 'expired'));
    v_left := v_ended;
    for v_try in 1 .. 10 loop
      v_made := v_made || tock.run_all_again(v_left, null,
        case when p_from_step is null then 'rerun' else 'fork' end, p_again, p_reason);
      v_left := array(
        select f from unnest(v_left) f
        where f.task_id not in (select m.task_id from unnest(v_made) m) and not tock.is_erased(f.current_id)
          and (p_again or not exists (
            select from tock.reruns o where o.of_id = f.task_id)));
      exit when pg_catalog.cardinality(v_left) = 0;
    end loop;
    if pg_catalog.cardinality(v_left) > 0 then
      perform tock.refuse(503, 'some of these tasks are being rerun by other calls', 'ids', 'try again');
    end if;
    if p_from_step is not null then
      perform tock.fork_steps(f, m.current_id, p_from_step)
      from unnest(v_made) m join unnest(v_ended) f on f.task_id = m.task_id;
    end if;
    v_answer := (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(f.task_id, f.state, m.current_id,
        case when m.current_id is not null then null
          when f.state not in ('done', 'dead', 'cancelled', 'expired') then 'unfinished'
          when tock.is_erased(f.current_id) then 'erased' else 'rerun' end, f.queue) order by f.n), '[]')
      from unnest(v_tasks) f left join unnest(v_made) m on m.task_id = f.task_id);
    -- if all are refused, a repetition does no harm, and the stored answer would outlast its reason
    if p_request_id is not null and pg_catalog.cardinality(v_made) > 0 then
      insert into tock.requests (verb, queue, request_id, digest, ids, answer)
        select 'rerun', a.value ->> 4, p_request_id, v_digest,
          pg_catalog.array_remove(pg_catalog.array_agg((a.value ->> 2)::bigint), null),
          pg_catalog.jsonb_agg(a.value)
        from pg_catalog.jsonb_array_elements(v_answer) a group by 2 order by 2
        on conflict do nothing;
      get diagnostics v_kept = row_count;
      if v_kept < pg_catalog.cardinality(v_queues) then
        perform tock.refuse(503, 'another call with this request_id is running at the same time',
          'request_id', 'try again');
      end if;
    end if;
  end if;
  return query
    select (a.value ->> 0)::bigint, a.value ->> 1, (a.value ->> 2)::bigint, a.value ->> 3
    from pg_catalog.jsonb_array_elements(v_answer) a order by 1;
end $$;

comment on function tock.rerun is
  'Runs up to 10,000 ended tasks again, each as a new task with its last payload, priority, tenant, '
  'max_attempts and options. Returns one row per known task: its state, and the id of the new task or why '
  'there is none (unfinished, erased; with p_again false also rerun, for a task that has one already). A '
  'repeated call with the same request_id, which counts in each of their queues, returns the same for 24 '
  'hours, once it has run any again. With p_from_step the new task of one id has the steps that were saved '
  'before that step.';

-- True if the content of a run or waiting task was erased.
create or replace function tock.is_erased(p_id bigint)
returns boolean language sql volatile
as $$ select coalesce((select r.bytes < 0 from tock.stored_runs(array[p_id]) r), true) $$;

-- run_again() for tasks of any segment, in p_queue or each in its own queue.
create or replace function tock.run_all_again(
  p_found tock.resolved_task[], p_queue text, p_kind text, p_again boolean, p_reason text)
returns tock.resolved_task[] language plpgsql volatile as $$
declare
  v_slot integer;
  v_part record;
  v_again tock.resolved_task[];
  v_made tock.resolved_task[] := '{}';
begin
  if pg_catalog.cardinality(p_found) = 0 then
    return v_made;
  elsif pg_catalog.length(p_reason) not between 1 and 200 then
    perform tock.refuse(422, 'a reason must have 1 to 200 characters', 'reason');
  end if;
  v_slot := tock.take_slot();
  for v_part in
    select coalesce(p_queue, f.queue) as queue,
      case when tock.stream_of(f.current_id) <> 0
        then tock.segment_of(tock.position_of(f.current_id)) end as segment,
      pg_catalog.array_agg(f order by f.n) as found
    from unnest(p_found) f group by 1, 2 order by 1, 2
  loop
    if (tock.policy(v_part.queue)).name = '*' then
      perform tock.check_queue(v_part.queue, 'ids', 422);  -- not 421: the ids belong to this node
      perform tock.make_queue(v_part.queue);
    end if;
    -- waiting tasks are in no segment: any segment will do
    execute pg_catalog.format('select tock.run_again_%s($1, $2, $3, $4, $5, $6)',
        coalesce(v_part.segment, tock.newest_segment()))
      into v_again using v_part.found, v_part.queue, v_slot, p_kind, p_again, p_reason;
    v_made := v_made || v_again;
  end loop;
  return v_made;
end $$;
