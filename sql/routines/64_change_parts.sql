-- run_at comes out as an instant, and beside a payload its bytes, so that nothing is measured twice.
create or replace function tock.check_changes(p_changes jsonb)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_error text[];
  v_other text;
begin
  if pg_catalog.jsonb_typeof(p_changes) is distinct from 'object' or p_changes = '{}' then
    perform tock.refuse(422, 'changes are an object of one or more of priority, run_at or delay_seconds, payload', 'changes');
  end if;
  select k into v_other from pg_catalog.jsonb_object_keys(p_changes) k
  where k not in ('priority', 'run_at', 'delay_seconds', 'payload') limit 1;
  if found then
    perform tock.refuse(422, v_other || ' can''t be changed; priority, run_at or delay_seconds, and payload can', v_other);
  end if;
  select k into v_other from pg_catalog.jsonb_each(p_changes) c (k, v) where c.v = 'null' and k <> 'payload' limit 1;
  v_error := case when found then array[v_other, v_other || ' can''t be null; leave it out to keep it as it is']
    else tock.option_error(p_changes - 'payload') end;
  if v_error is not null then
    perform tock.refuse(422, v_error[2], v_error[1]);
  end if;
  return p_changes - 'delay_seconds'
    || case when p_changes ? 'priority' then pg_catalog.jsonb_build_object('priority', (p_changes ->> 'priority')::numeric::integer)
      else '{}' end
    || case when p_changes ? 'delay_seconds' then pg_catalog.jsonb_build_object('run_at', pg_catalog.clock_timestamp()
      + pg_catalog.round((p_changes ->> 'delay_seconds')::numeric, 6)::float8 * interval '1 second') else '{}' end
    || case when p_changes ? 'payload' then pg_catalog.jsonb_build_object('bytes',
      coalesce(pg_catalog.octet_length(nullif(p_changes -> 'payload', 'null')::text), 0)) else '{}' end;
end $$;

comment on function tock.check_changes is 'The changes in the form they are kept in; TK422 names the field that can''t be.';

create or replace function tock.check_payload_fits(p_changes jsonb, p_queue text, p_tasks integer)
returns void
language plpgsql
stable
as $$
declare
  v_max integer := (tock.policy(p_queue)).max_payload_bytes;
begin
  if (p_changes ->> 'bytes')::integer > v_max then
    perform tock.refuse(422, pg_catalog.format('queue %s takes payloads of up to %s bytes of JSON', p_queue, v_max), 'payload',
      'keep large data elsewhere and send where it is, or raise the queue''s max_payload_bytes');
  elsif (p_changes ->> 'bytes')::bigint * p_tasks > 67108864 then
    perform tock.refuse(422, 'a payload is written once for each of up to 10,000 tasks, 64 MiB of JSON in all', 'payload',
      'change fewer tasks a call');
  end if;
end $$;

comment on function tock.check_payload_fits is 'Raises TK422 for a payload larger than its queue takes, or than so many tasks may be given at once.';

create or replace function tock.change_waiting(p_found tock.whereabout[], p_changes jsonb)
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
as $$
declare
  v_positions bigint[] := array(
    select w.position from tock.waiting w
    where w.position = any (array(select f.current_id >> 20 from unnest(p_found) f))
    order by w.position for update);
  v_ready bigint[];
  v_at_once boolean := coalesce((p_changes ->> 'run_at')::timestamptz <= pg_catalog.clock_timestamp(), false);
begin
  -- at once, and not by a due time that promotion would read on from
  update tock.waiting w set
    priority = coalesce((p_changes ->> 'priority')::smallint, w.priority),
    queue = coalesce(p_changes ->> 'queue', w.queue),
    lane = case when p_changes ? 'queue' then tock.lane_in(p_changes ->> 'queue', w.tenant, w.options) else w.lane end,
    due_at = case when w.after_due is not null then w.due_at
      when v_at_once and w.gate is null then '-infinity'
      -- due now, or still at the gate: that decides
      when v_at_once then case when w.due_at = 'infinity' then w.due_at else pg_catalog.clock_timestamp() end
      else coalesce((p_changes ->> 'run_at')::timestamptz, w.due_at) end,
    after_due = case when w.after_due is not null then coalesce((p_changes ->> 'run_at')::timestamptz, w.after_due) end,
    -- who is put off gives up its place in the line
    ticket = case when not v_at_once and p_changes ? 'run_at' then null else w.ticket end,
    payload = case when p_changes ? 'payload' then tock.with_own_payload(w.payload, w.options, p_changes -> 'payload')
      else w.payload end,
    bytes = case when p_changes ? 'payload' and tock.is_whole(w.payload, w.options)
        then pg_catalog.octet_length(tock.with_own_payload(w.payload, w.options, p_changes -> 'payload')::text)
      else coalesce((p_changes ->> 'bytes')::integer, w.bytes) end
  where w.position = any (v_positions);
  if v_at_once then
    v_ready := array(select w.position from tock.waiting w where w.position = any (v_positions) and w.gate is null
      and w.after_due is null);
    if pg_catalog.cardinality(v_ready) > 0 then
      perform tock.make_ready(v_ready);
    end if;
  end if;
  return array(select p << 20 from unnest(v_positions) p);
end $$;

comment on function tock.change_waiting is 'Changes waiting entries; returns the ids of those that were still waiting.';

-- What was changed is marked by now: a gate tells by it who backs off and who was put off.
create or replace function tock.give_up_turns(p_ids bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
as $$
declare
  v_queues text[];
  v_gates text[];
begin
  select pg_catalog.array_agg(w.queue), pg_catalog.array_agg(w.gate) into v_queues, v_gates
  from tock.waiting w
  where w.position = any (array(select i >> 20 from unnest(p_ids) i)) and w.gate is not null and w.task_id is not null
    and w.due_at < 'infinity';
  if v_gates is not null then
    perform tock.open_gates(v_queues, v_gates);
  end if;
end $$;

comment on function tock.give_up_turns is 'Opens the gates of waiting entries that were inside and are put off, for the next.';

-- The run stays where it is, marked, and another takes its place: a run at the end of a stream, or a
-- waiting entry. Two who do this at once: the key of marks lets one.
create or replace function tock.supersede(p_found tock.whereabout[], p_changes jsonb)
returns tock.whereabout[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_due timestamptz := coalesce((p_changes ->> 'run_at')::timestamptz, v_now);
  v_epoch integer;
  v_runs tock.going[];
  v_slot integer := -1;
  v_part tock.whereabout[];
  v_replaced tock.whereabout[] := '{}';
begin
  if pg_catalog.cardinality(p_found) = 0 then
    return v_replaced;
  elsif v_due <= v_now then
    v_slot := tock.take_slot();
  else
    perform tock.check_waiting_ids();
  end if;
  for v_epoch in select distinct tock.epoch_of(f.current_id >> 20) as epoch from unnest(p_found) f order by epoch loop
    continue when v_epoch is null;
    execute pg_catalog.format($q$
      select array(
        select row(f.n, r.stream, r.position, f.task_id, r.attempt, r.max_attempts, r.tenant, r.created_at,
          coalesce(($2 ->> 'bytes')::integer, r.bytes), null,
          coalesce($2 ->> 'queue', s.queue), coalesce(($2 ->> 'priority')::smallint, s.priority),
          case when $2 ? 'queue' then tock.lane_in($2 ->> 'queue', r.tenant, r.options) else s.lane end, $3, false, r.lost,
          null)::tock.going
        from unnest($1) f
        cross join lateral (
          select r.* from tock.runs_%s r
          where r.stream = (f.current_id & 1048575)::integer and r.position = f.current_id >> 20 offset 0) r
        join tock.streams s on s.number = r.stream)$q$, v_epoch)
      into v_runs using p_found, p_changes, v_due;
    if v_due <= v_now then
      perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
      from (select distinct r.queue, r.priority, r.lane from unnest(v_runs) r) d;
    end if;
    execute pg_catalog.format($q$
      with placed as materialized (
        select pg_catalog.nextval('tock.positions') as next_position, o.*
        from (
          select r.*, coalesce(t.number, 0) as next_stream from unnest($1) r
          left join tock.streams t on t.queue = r.queue and t.priority = r.priority and t.lane = r.lane and t.slot = $2
          order by r.n) o
      ), marked as (
        insert into tock.marks (stream, position, kind, other_id)
        select p.stream, p.position, 'superseded', p.next_position << 20 | p.next_stream from placed p
        order by p.position, p.stream
        on conflict do nothing
        returning stream, position
      ), replacing as (
        select p.*, r.options, case when $3 ? 'payload' then tock.with_own_payload(r.payload, r.options, $3 -> 'payload')
            else r.payload end as payload,
          case when $3 ? 'payload' and tock.is_whole(r.payload, r.options)
            then pg_catalog.octet_length(tock.with_own_payload(r.payload, r.options, $3 -> 'payload')::text) else p.bytes end as new_bytes
        from placed p join marked m using (stream, position)
        cross join lateral (
          select r.payload, r.options from tock.runs_%s r where r.stream = p.stream and r.position = p.position offset 0) r
      ), ready as (
        insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload,
          options)
        select p.next_stream, p.next_position, p.task_id, p.attempt, p.lost, p.max_attempts, p.tenant, p.created_at,
          p.new_bytes, p.payload, p.options
        from replacing p where p.next_stream <> 0
      ), judged_at_its_claim as (
        insert into tock.marks (stream, position, kind, other_id)
        select p.next_stream, p.next_position, 'replaces', p.position << 20 | p.stream
        from placed p join marked m using (stream, position) where p.next_stream <> 0
      ), later as (
        insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
          created_at, bytes, payload, replaces, options, gate)
        select p.next_position, p.task_id, p.due_at, p.queue, p.priority, p.lane, p.attempt, p.lost, p.max_attempts, p.tenant,
          p.created_at, p.new_bytes, p.payload, p.position << 20 | p.stream, p.options, p.options ->> 'gate'
        from replacing p where p.next_stream = 0
      )
      select array(
        select row(p.next_position << 20 | p.next_stream, p.task_id, p.position << 20 | p.stream, 'ready', p.queue)::tock.whereabout
        from placed p join marked m using (stream, position))$q$, v_epoch)
      into v_part using v_runs, v_slot, p_changes;
    v_replaced := v_replaced || v_part;
  end loop;
  perform tock.parents_moved(array(select r.current_id from unnest(v_replaced) r));
  return v_replaced;
end $$;

comment on function tock.supersede is
  'Replaces ready runs by changed ones; returns those that nobody else had replaced or cancelled, n being the id of what replaces them.';
