-- expires_at is kept while it is to come. A unique key stays with the first task, and what that one came after.
-- A pipeline goes on from the stage where the task is run again. What others gave stays, and so does what says that.
create or replace function tock.options_again(p_options jsonb, p_policy tock.queues, p_now timestamptz)
returns jsonb
language sql
stable
as $$
  select nullif(pg_catalog.jsonb_strip_nulls((coalesce(p_options, '{}')
        - '{unique_key,expires_at,after,on_parent_failure,gather,names,cancelled_for}'::text[]) #- '{stage,after}'
      #- case when (p_options #>> '{stage,expires_at}')::timestamptz <= p_now then array['stage', 'expires_at'] else '{}' end
    || pg_catalog.jsonb_build_object(
      'timeout_seconds', coalesce((p_options ->> 'timeout_seconds')::integer, p_policy.timeout_seconds),
      'expires_at', case when (p_options ->> 'expires_at')::timestamptz > p_now then (p_options ->> 'expires_at')::timestamptz
        else p_now + p_policy.max_wait_seconds * interval '1 second' end)), '{}')
$$;

comment on function tock.options_again is 'The options of a task that runs again in a queue, from those it had.';

-- The tasks' last runs or waiting entries lie in one epoch, or in waiting (p_epoch null). Payloads go from table
-- to table. What was run again by somebody else meanwhile, seen by the key of reruns, is left to them. What was
-- erased has bytes -1.
create or replace function tock.run_again(
  p_epoch integer, p_found tock.whereabout[], p_queue text, p_slot integer, p_kind text, p_again boolean, p_reason text)
returns tock.whereabout[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_source text := case when p_epoch is null
    then 'select w.*, w.priority as old_priority from tock.waiting w where w.position = f.current_id >> 20'
    else pg_catalog.format('select r.*, s.priority as old_priority from tock.runs_%s r join tock.streams s on s.number = r.stream
      where r.stream = (f.current_id & 1048575)::integer and r.position = f.current_id >> 20', p_epoch) end;
  v_bulk text[];
  v_made tock.whereabout[];
  v_waits boolean;
begin
  if pg_catalog.cardinality(p_found) >= 1000 then
    execute pg_catalog.format($q$
      select array(
        select r.tenant from unnest($1) f cross join lateral (%s offset 0) r
        where r.tenant is not null group by 1 having count(*) >= 1000)$q$, v_source) into v_bulk using p_found;
  end if;
  execute pg_catalog.format($q$
    with given as materialized (
      select f.n, f.task_id, f.current_id, r.old_priority as priority, r.tenant, r.max_attempts, r.bytes,
        tock.options_again(case when r.options -> 'pipeline' ? $2 then r.options
          else r.options - 'pipeline' - 'stage' end, $3, $4) as options
      from unnest($1) f cross join lateral (%1$s offset 0) r
      where r.bytes >= 0
    ), laned as materialized (
      select g.*, g.options ->> 'gate' as gate,
        case when g.tenant is null then 0 else tock.lane_of($3, g.tenant, $5) end
          + case when g.options is null then 0 else 1024 end as lane
      from given g
    ), opened as materialized (
      select d.priority, d.lane, tock.open_stream($2, d.priority, d.lane, $6) as stream
      from (select distinct l.priority, l.lane from laned l where l.gate is null) d
    ), placed as materialized (
      select pg_catalog.nextval('tock.positions') as next_position, o.*
      from (
        select l.*, case when l.gate is null then s.stream else 0 end as next_stream
        from laned l left join opened s on s.priority = l.priority and s.lane = l.lane
        order by l.n) o
    ), taken as (
      insert into tock.reruns (of_id, number, id, kind, reason)
      select p.task_id, case when $8 then 1 + coalesce((
          select x.number from tock.reruns x where x.of_id = p.task_id order by x.number desc limit 1), 0) else 1 end,
        p.next_position << 20 | p.next_stream, $7, $9
      from placed p order by p.task_id
      on conflict do nothing
      returning id
    ), again as materialized (
      select p.* from placed p join taken t on t.id = p.next_position << 20 | p.next_stream
    ), ready as (
      insert into tock.runs (stream, position, max_attempts, tenant, bytes, payload, options)
      select a.next_stream, a.next_position, a.max_attempts, a.tenant, a.bytes, r.payload, a.options
      from again a cross join lateral (select a.current_id) f cross join lateral (%1$s offset 0) r
      where a.next_stream <> 0
    ), later as (
      insert into tock.waiting (position, due_at, queue, priority, lane, max_attempts, tenant, bytes, payload, options, gate)
      select a.next_position, $4, $2, a.priority, a.lane, a.max_attempts, a.tenant, a.bytes, r.payload, a.options, a.gate
      from again a cross join lateral (select a.current_id) f cross join lateral (%1$s offset 0) r
      where a.next_stream = 0
    )
    select array(
        select row(a.n, a.task_id, a.next_position << 20 | a.next_stream, null, $2)::tock.whereabout from again a order by a.n),
      exists (select from again a where a.next_stream = 0)$q$, v_source)
    into v_made, v_waits
    using p_found, p_queue, v_policy, v_now, coalesce(v_bulk, '{}'), p_slot, p_kind, p_again, p_reason;
  if v_waits then
    perform tock.check_waiting_ids();
    perform tock.check_new_ids(array(select m.current_id from unnest(v_made) m));
  end if;
  perform tock.parents_moved(array(select f.current_id from unnest(p_found) f));
  return v_made;
end $$;

comment on function tock.run_again is
  'Makes new tasks of ended ones, in a queue, and notes what they are reruns of; returns them, current_id being the new one. p_again also of those that were run again before.';

create or replace function tock.run_all_again(
  p_found tock.whereabout[], p_queue text, p_kind text, p_again boolean, p_reason text)
returns tock.whereabout[]
language plpgsql
volatile
as $$
declare
  v_slot integer;
  v_part record;
  v_made tock.whereabout[] := '{}';
begin
  if pg_catalog.cardinality(p_found) = 0 then
    return v_made;
  elsif pg_catalog.length(p_reason) not between 1 and 200 then
    perform tock.refuse(422, 'a reason is 1 to 200 characters', 'reason');
  end if;
  v_slot := tock.take_slot();
  for v_part in
    select coalesce(p_queue, f.queue) as queue, 
      case when f.current_id & 1048575 <> 0 then tock.epoch_of(f.current_id >> 20) end as epoch,
      pg_catalog.array_agg(f order by f.n) as found
    from unnest(p_found) f group by 1, 2 order by 1, 2
  loop
    if (tock.policy(v_part.queue)).name = '*' then
      perform tock.check_queue_name(v_part.queue);
      perform tock.make_queue(v_part.queue);
    end if;
    v_made := v_made || tock.run_again(v_part.epoch, v_part.found, v_part.queue, v_slot, p_kind, p_again, p_reason);
  end loop;
  return v_made;
end $$;

comment on function tock.run_all_again is 'run_again() wherever the tasks are, to p_queue or each to its own.';

-- Each call runs them again, and a repeated one doesn't. Of two calls at the same time both do: who has the
-- number of the other takes the next. A request id counts in each queue of the tasks, so that nobody can use up
-- another's; each keeps what its own were given. Calls with one id follow each other by its lock in the first queue.
create or replace function tock.rerun(p_ids bigint[], p_request_id text default null, p_reason text default null)
returns table (id bigint, state text, rerun_id bigint, refused text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set lock_timeout = '2s'
set plan_cache_mode = auto
as $$
#variable_conflict use_column
declare
  v_ids bigint[] := tock.check_ids(p_ids);
  v_digest bigint := pg_catalog.hashtextextended(pg_catalog.jsonb_build_array(v_ids, p_reason)::text, 0);
  v_queues text[];
  v_queue text;
  v_kept integer;
  v_found tock.whereabout[];
  v_ended tock.whereabout[];
  v_left tock.whereabout[];
  v_made tock.whereabout[] := '{}';
  v_answer jsonb;
begin
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  v_found := tock.each_task(v_ids);
  if p_request_id is not null then
    v_queues := array(select distinct f.queue from unnest(v_found) f order by 1);
    perform tock.request_seen('rerun', v_queues[1], p_request_id, v_digest);
    v_queue := (
      select r.queue from tock.requests r
      where r.queue = any (v_queues) and r.verb = 'rerun' and r.request_id = p_request_id and r.digest <> v_digest limit 1);
    if v_queue is not null then
      perform tock.request_seen('rerun', v_queue, p_request_id, v_digest);
    end if;
    v_answer := (
      select pg_catalog.jsonb_agg(a.value) from tock.requests r cross join pg_catalog.jsonb_array_elements(r.answer) a
      where r.queue = any (v_queues) and r.verb = 'rerun' and r.request_id = p_request_id);
  end if;
  if v_answer is null then
    v_ended := array(select f from unnest(v_found) f where f.state in ('done', 'dead', 'cancelled', 'expired'));
    v_left := v_ended;
    for v_try in 1 .. 10 loop
      v_made := v_made || tock.run_all_again(v_left, null, 'rerun', true, p_reason);
      v_left := array(
        select f from unnest(v_left) f
        where f.task_id not in (select m.task_id from unnest(v_made) m) and not tock.is_erased(f.current_id));
      exit when pg_catalog.cardinality(v_left) = 0;
    end loop;
    if pg_catalog.cardinality(v_left) > 0 then
      perform tock.refuse(503, 'some of these tasks are being rerun by others', 'ids', 'try again');
    end if;
    v_answer := (
      select coalesce(pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(f.task_id, f.state, m.current_id,
        case when m.current_id is not null then null when f.state in ('done', 'dead', 'cancelled', 'expired') then 'erased'
          else 'unfinished' end, f.queue) order by f.n), '[]')
      from unnest(v_found) f left join unnest(v_made) m on m.task_id = f.task_id);
    -- where all are refused nothing can be done twice, and their answer must not outlast the reason
    if p_request_id is not null and pg_catalog.cardinality(v_made) > 0 then
      insert into tock.requests (verb, queue, request_id, digest, ids, answer)
        select 'rerun', a.value ->> 4, p_request_id, v_digest,
          pg_catalog.array_remove(pg_catalog.array_agg((a.value ->> 2)::bigint), null), pg_catalog.jsonb_agg(a.value)
        from pg_catalog.jsonb_array_elements(v_answer) a group by 2 order by 2
        on conflict do nothing;
      get diagnostics v_kept = row_count;
      if v_kept < pg_catalog.cardinality(v_queues) then
        perform tock.refuse(503, 'another call with this request_id came at the same moment', 'request_id', 'try again');
      end if;
    end if;
  end if;
  return query
    select (a.value ->> 0)::bigint, a.value ->> 1, (a.value ->> 2)::bigint, a.value ->> 3
    from pg_catalog.jsonb_array_elements(v_answer) a order by 1;
end $$;

comment on function tock.rerun is
  'Runs up to 10,000 ended tasks again, each as a new task with the payload, priority, tenant, max_attempts and options it had at last. A row a known task: the state it is in, and the new task''s id, or why there is none (unfinished, erased). A call repeated with its request_id, which counts in each of their queues, within 24 hours gives the same, once it has run any again.';

create or replace function tock.is_erased(p_id bigint)
returns boolean
language plpgsql
volatile
set enable_seqscan = off
set jit = off
as $$
declare
  v_bytes integer := (select w.bytes from tock.waiting w where w.position = p_id >> 20);
begin
  if p_id & 1048575 <> 0 then
    execute pg_catalog.format('select r.bytes from tock.runs_%s r where r.stream = $1 and r.position = $2',
      tock.epoch_of(p_id >> 20)) into v_bytes using (p_id & 1048575)::integer, p_id >> 20;
  end if;
  return coalesce(v_bytes < 0, true);
end $$;

comment on function tock.is_erased is 'Whether the content of a run or waiting entry has been erased.';
