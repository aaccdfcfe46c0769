-- All of a call or none. Each chunk of 5,000 has a slot of its own, so that several claimers can
-- share a large call. A thousand of one tenant in a call go by a lane apart, so that the others of its
-- lane don't stand behind them. What is due now never enters waiting.
create or replace function tock.enqueue(p_queue text, p_tasks jsonb, p_request_id text default null)
returns bigint[]
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_digest bigint;
  v_seen tock.requests;
  v_slots integer[];
  v_count integer;
  v_ids bigint[];
  v_bulk text[] := '{}';
  v_waits boolean;
begin
  if pg_catalog.jsonb_typeof(p_tasks) is distinct from 'array' then
    perform tock.refuse(422, 'tasks is an array of tasks', 'tasks');
  end if;
  v_count := pg_catalog.jsonb_array_length(p_tasks);
  if v_count > 100000 then
    perform tock.refuse(422, 'one call takes up to 100,000 tasks', 'tasks', 'split it into several calls');
  end if;
  if v_policy.name = '*' then
    perform tock.check_queue_name(p_queue);
    perform tock.make_queue(p_queue);
  end if;
  if p_request_id is not null then
    v_digest := pg_catalog.hashtextextended(p_tasks::text, 0);
    v_seen := tock.request_seen('enqueue', p_queue, p_request_id, v_digest);
    if v_seen.ids is not null then
      return v_seen.ids;
    end if;
  end if;
  perform tock.refuse_bad_tasks(p_tasks, v_policy.max_payload_bytes);
  if v_count = 0 then
    return '{}';
  end if;
  if v_count >= 1000 then
    v_bulk := array(
      select t.task ->> 'tenant' from pg_catalog.jsonb_array_elements(p_tasks) t (task)
      where t.task ->> 'tenant' is not null group by 1 having count(*) >= 1000);
  end if;
  v_slots := array[tock.take_slot()];
  for v_chunk in 2 .. (v_count + 4999) / 5000 loop
    v_slots := v_slots || tock.take_slot(v_slots[v_chunk - 1] + 1);
  end loop;

  with given as materialized (
    select t.n, nullif(t.task -> 'payload', 'null') as payload,
      coalesce((t.task ->> 'priority')::numeric, 5)::smallint as priority,
      t.task ->> 'tenant' as tenant,
      case when t.task ->> 'tenant' is null then 0 else tock.lane_of(v_policy, t.task ->> 'tenant', v_bulk) end as lane,
      (t.task ->> 'max_attempts')::numeric::smallint as max_attempts,
      coalesce((t.task ->> 'run_at')::timestamptz,
        v_now + pg_catalog.round((t.task ->> 'delay_seconds')::numeric, 6)::float8 * interval '1 second', v_now) as due_at,
      v_slots[1 + (t.n - 1) / 5000] as slot
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t(task, n)
  ), opened as materialized (
    select d.priority, d.lane, d.slot, tock.open_stream(p_queue, d.priority, d.lane, d.slot) as stream
    from (select distinct g.priority, g.lane, g.slot from given g where g.due_at <= v_now) d
  ), placed as materialized (
    select o.*, pg_catalog.nextval('tock.positions') as position,
      coalesce(pg_catalog.octet_length(o.payload::text), 0) as bytes
    from (
      select g.*, case when g.due_at <= v_now then s.stream else 0 end as stream
      from given g left join opened s
        on s.priority = g.priority and s.lane = g.lane and s.slot = g.slot
      order by g.n) o
  ), ready as (
    insert into tock.runs (stream, position, max_attempts, tenant, bytes, payload)
    select p.stream, p.position, p.max_attempts, p.tenant, p.bytes, p.payload
    from placed p where p.stream <> 0
  ), later as (
    insert into tock.waiting (position, due_at, queue, priority, lane, max_attempts, tenant, bytes, payload)
    select p.position, p.due_at, p_queue, p.priority, p.lane, p.max_attempts, p.tenant, p.bytes, p.payload
    from placed p where p.stream = 0
  )
  select pg_catalog.array_agg(p.position << 20 | p.stream order by p.n), bool_or(p.stream = 0)
    into v_ids, v_waits from placed p;
  if v_waits then
    perform tock.check_waiting_ids();
  end if;

  if p_request_id is not null then
    insert into tock.requests (verb, queue, request_id, digest, ids)
      values ('enqueue', p_queue, p_request_id, v_digest, v_ids)
      on conflict do nothing;  -- none but under an old snapshot, and there it is a 40001
  end if;
  return v_ids;
end $$;

comment on function tock.enqueue is
  'Adds tasks ({payload, delay_seconds | run_at, priority, tenant, max_attempts}) and returns their ids in order, inside your transaction if you like. A call repeated with its request_id within 24 hours gives the same ids.';

create or replace function tock.enqueue_task(
  p_queue text, p_payload jsonb default null, p_delay_seconds double precision default null,
  p_run_at timestamptz default null, p_priority integer default null, p_tenant text default null,
  p_max_attempts integer default null, p_request_id text default null)
returns bigint
language sql
volatile
as $$
  select (tock.enqueue(p_queue, pg_catalog.jsonb_build_array(pg_catalog.jsonb_strip_nulls(
    pg_catalog.jsonb_build_object('delay_seconds', p_delay_seconds, 'run_at', p_run_at,
      'priority', p_priority, 'tenant', p_tenant, 'max_attempts', p_max_attempts))
    || pg_catalog.jsonb_build_object('payload', p_payload)), p_request_id))[1]
$$;

comment on function tock.enqueue_task is 'Adds one task and returns its id: enqueue() with plain arguments.';
