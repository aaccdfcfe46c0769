-- Appends up to 5,000 tasks with only a payload and returns their ids in order. The payloads are those of
-- p_tasks, or the elements of p_payloads, whose text is stored as it is.
create or replace function tock.append_plain(
  p_queue text, p_tasks jsonb, p_payloads json, p_max_payload_bytes integer)
returns bigint[] language plpgsql volatile as $$
declare
  v_stream integer := tock.open_stream(p_queue, 5, 0, tock.take_slot());
  v_ids bigint[];
  v_bytes integer;
begin
  with added as (
    insert into tock.runs (stream, position, bytes, payload)
    select v_stream, pg_catalog.nextval('tock.positions'),
      coalesce(pg_catalog.octet_length(g.payload::text), 0), g.payload
    from (
      select pg_catalog.to_json(nullif(t.task -> 'payload', 'null')) as payload
      from pg_catalog.jsonb_array_elements(p_tasks) t (task)
      union all
      select case when t.payload::text <> 'null' then t.payload end
      from pg_catalog.json_array_elements(p_payloads) t (payload)
      offset 0) g
    returning position, bytes
  )
  select pg_catalog.array_agg(tock.id_at(a.position, v_stream) order by a.position), max(a.bytes)
  into v_ids, v_bytes from added a;
  if v_bytes > p_max_payload_bytes then
    perform tock.refuse_large_payloads(p_payloads, p_max_payload_bytes),
      tock.refuse_bad_tasks(p_tasks, p_max_payload_bytes);
  end if;
  return v_ids;
end $$;

-- Appends tasks with any options, puts those that are due later into waiting, and returns their ids in order.
-- Each 5,000 tasks get a slot of their own, so that several workers can share a large call. A tenant with
-- 1,000 or more tasks in one call gets a separate lane, so that other tenants of its lane do not wait behind
-- them. A task that is due now enters tock.waiting only if it has a concurrency key or parents.
create or replace function tock.append_any(
  p_queue text, p_tasks jsonb, p_policy tock.queues, p_payloads json default null)
returns bigint[] language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_count integer := pg_catalog.jsonb_array_length(p_tasks);
  v_slots integer[];
  v_bulk text[] := '{}';
  v_ids bigint[];
  v_waits boolean;
  v_children bigint[];
  v_parents bigint[];
  v_parts bigint[];
begin
  perform tock.refuse_bad_tasks(p_tasks, p_policy.max_payload_bytes);
  perform tock.before_append(p_queue, p_tasks, p_policy);
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
    select t.n, t.task,
      nullif(coalesce(t.payload::text, (t.task -> 'payload')::text), 'null') as payload,
      coalesce((t.task ->> 'priority')::numeric, 5)::smallint as priority,
      t.task ->> 'tenant' as tenant,
      case when t.task ->> 'tenant' is null then 0
        else tock.lane_of(p_policy, t.task ->> 'tenant', v_bulk) end as own_lane,
      (t.task ->> 'max_attempts')::numeric::smallint as max_attempts,
      coalesce((t.task ->> 'run_at')::timestamptz,
        v_now + pg_catalog.round((t.task ->> 'delay_seconds')::numeric, 6)::float8 * interval '1 second',
        v_now) as due_at,
      v_slots[1 + (t.n - 1) / 5000] as slot
    from rows from (pg_catalog.jsonb_array_elements(p_tasks),
      pg_catalog.json_array_elements(p_payloads)) with ordinality t (task, payload, n)
  ), laned as materialized (
    select g.*, g.options ->> 'concurrency_key' as concurrency_key,
      coalesce(g.options ? 'depends_on', false) as waits,
      case when g.options is null then g.own_lane else g.own_lane + 1024 end as lane
    from (select g.*, tock.kept_options(g.task, p_policy, g.due_at) as options from given g offset 0) g
  ), opened as materialized (
    select d.priority, d.lane, d.slot, tock.open_stream(p_queue, d.priority, d.lane, d.slot) as stream
    from (select distinct g.priority, g.lane, g.slot from laned g
      where g.due_at <= v_now and g.concurrency_key is null and not g.waits) d
  ), placed as materialized (
    select o.*, pg_catalog.nextval('tock.positions') as position,
      coalesce(pg_catalog.octet_length(o.payload), 0) as bytes
    from (
      select g.*, case when g.due_at <= v_now and g.concurrency_key is null and not g.waits then s.stream
        else 0 end as stream
      from laned g left join opened s
        on s.priority = g.priority and s.lane = g.lane and s.slot = g.slot
      order by g.n) o
  ), call as materialized (
    select pg_catalog.array_agg(tock.id_at(p.position, p.stream) order by p.n) as ids,
      coalesce(pg_catalog.jsonb_object_agg(p.task ->> 'name', tock.id_at(p.position, p.stream)::text)
        filter (where p.task ->> 'name' is not null), '{}') as names
    from placed p
  ), ready as (
    insert into tock.runs (stream, position, max_attempts, tenant, bytes, payload, options)
    select p.stream, p.position, p.max_attempts, p.tenant, p.bytes, p.payload::json, p.options
    from placed p where p.stream <> 0
  ), later as (
    insert into tock.waiting (position, due_at, queue, priority, lane, max_attempts, tenant, bytes,
      payload, options, concurrency_key, due_after_parents)
    -- not earlier than now: promotion no longer reads below the due time that it last promoted
    select p.position, greatest(p.due_at, v_now), p_queue, p.priority, p.lane, p.max_attempts, p.tenant,
      p.bytes, p.payload::json,
      case when p.waits then tock.with_parents(p.options, p.task -> 'depends_on', p.n, c.ids, c.names)
        else p.options end, p.concurrency_key,
      case when p.waits then p.due_at end
    from placed p cross join call c where p.stream = 0
  )
  select c.ids, w.waits, w.children, w.parents, w.parts
  into v_ids, v_waits, v_children, v_parents, v_parts
  from call c cross join (
    select bool_or(p.stream = 0) as waits,
      pg_catalog.array_agg(p.position) filter (where p.waits) as children,
      pg_catalog.array_agg((p.options ->> 'parent')::bigint) filter (where p.options ? 'parent') as parents,
      pg_catalog.array_agg(tock.id_at(p.position, p.stream)) filter (where p.options ? 'parent') as parts
    from placed p) w;
  if v_waits then
    perform tock.check_waiting_ids();
    perform tock.check_new_ids(v_ids);
  end if;
  if v_children is not null or v_parts is not null then
    perform tock.after_append(v_children, v_parents, v_parts);
  end if;
  return v_ids;
end $$;
