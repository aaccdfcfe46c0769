-- plpgsql keeps the plan for the session; a SQL function that reads a table is planned at each call
create or replace function tock.policy(p_queue text)
returns tock.queues
language plpgsql
stable
as $$
declare
  v_policy tock.queues;
begin
  select q.* into v_policy from tock.queues q where q.name = p_queue;
  if not found then
    select q.* into v_policy from tock.queues q where q.name = '*';
  end if;
  return v_policy;
end $$;

comment on function tock.policy is 'The policy a queue follows: its own row, or the default row ''*''.';

-- While the archive is on, history is there until it lies in it, and then there: nothing hides in between.
create or replace function tock.shown_since(p_queue text)
returns timestamptz
language plpgsql
stable
as $$
begin
  return case when tock.is_archiving() then '-infinity'
    else pg_catalog.now() - (tock.policy(p_queue)).retention_seconds * interval '1 second' end;
end $$;

comment on function tock.shown_since is 'Tasks of a queue that ended before this are not shown any more.';

create or replace function tock.check_queue_name(p_queue text)
returns void
language plpgsql
immutable
as $$
begin
  if p_queue is null or p_queue !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,99}$' then
    perform tock.refuse(422, 'a queue''s name is 1 to 100 letters, digits and _ . : -, and starts with a letter or digit',
      'queue');
  end if;
end $$;

comment on function tock.check_queue_name is 'Raises TK422 for what can''t be a queue''s name.';

-- Waits for nobody: while another open transaction makes the same queue, this one goes by '*'.
create or replace function tock.make_queue(p_queue text)
returns void
language plpgsql
volatile
as $$
begin
  if (select count(*) from tock.queues) > 10000 then
    perform tock.refuse(422, 'there are 10,000 queues: no more are made by being named', 'queue',
      'use tenants and priorities within a queue');
  end if;
  if pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), tock.named_key('queue', p_queue)) then
    insert into tock.queues
    select n.* from tock.queues q
    cross join lateral pg_catalog.jsonb_populate_record(q, pg_catalog.jsonb_build_object(
      'name', p_queue, 'paused', false, 'created_at', pg_catalog.now(), 'heavy', '{}'::jsonb)) n
    where q.name = '*'
    on conflict do nothing;
  end if;
exception
  when serialization_failure then null;  -- made since this transaction's snapshot was taken
end $$;

comment on function tock.make_queue is 'Makes a queue named for the first time, with the default policy.';

-- Nullable ones are switched off by null.
create or replace function tock.queue_settings()
returns table (name text, kind text, low integer, high integer, words text[], nullable boolean)
language sql
immutable
as $$
  values ('lease_seconds', 'whole', 1, 86400, null::text[], false), ('max_attempts', 'whole', 1, 1000, null, false),
    ('max_lost', 'whole', 1, 1000, null, false),
    ('backoff_kind', 'word', null, null, array['fixed', 'linear', 'exponential'], false),
    ('backoff_base_seconds', 'number', 0, 86400, null, false), ('backoff_factor', 'number', 1, 10, null, false),
    ('backoff_cap_seconds', 'number', 0, 2678400, null, false), ('backoff_jitter', 'number', 0, 1, null, false),
    ('lanes', 'whole', 1, 64, null, false), ('max_payload_bytes', 'whole', 1024, 4194304, null, false),
    ('retention_seconds', 'whole', 60, 315360000, null, false),
    ('timeout_seconds', 'whole', 1, 2678400, null, true), ('max_wait_seconds', 'whole', 1, 315360000, null, true),
    ('gate_limit', 'whole', 1, 1000, null, false), ('gate_retry', 'word', null, null, array['keep', 'yield'], false),
    ('gate_rate_limit', 'whole', 1, 1000000, null, true), ('gate_rate_seconds', 'whole', 1, 86400, null, false),
    ('gate_rate_burst', 'whole', 1, 1000000, null, true), ('max_running', 'whole', 1, 10000, null, true),
    ('rate_limit', 'whole', 1, 1000000, null, true), ('rate_seconds', 'whole', 1, 86400, null, false),
    ('rate_burst', 'whole', 1, 1000000, null, true), ('keep_results', 'flag', null, null, null, false),
    ('paused', 'flag', null, null, null, false), ('pause_after_restore', 'flag', null, null, null, false),
    ('push', 'push', null, null, null, true), ('dead_webhook', 'push', null, null, null, true)
$$;

comment on function tock.queue_settings is 'The settings of a queue, and what each may be.';

-- Where null stands for as it is, it is left out of what comes back.
create or replace function tock.check_policy(p_policy jsonb)
returns jsonb
language plpgsql
immutable
as $$
declare
  v_given record;
  v_clean jsonb := '{}';
  v_good boolean;
begin
  if pg_catalog.jsonb_typeof(p_policy) is distinct from 'object' then
    perform tock.refuse(422, 'a policy is an object', 'policy');
  end if;
  for v_given in
    select o.key, o.value, pg_catalog.jsonb_typeof(o.value) as type, r.*
    from pg_catalog.jsonb_each(p_policy) o left join tock.queue_settings() r on r.name = o.key
  loop
    if v_given.name is null then
      perform tock.refuse(422, 'a queue has no option ' || v_given.key, v_given.key,
        'options: ' || (select pg_catalog.string_agg(r.name, ', ') from tock.queue_settings() r));
    end if;
    v_good := case
      when v_given.type = 'null' then v_given.nullable
      when v_given.kind = 'push' then true  -- check_push_policy() and check_dead_webhook() have seen it
      when v_given.kind = 'flag' then v_given.type = 'boolean'
      when v_given.kind = 'word' then v_given.type = 'string' and v_given.value #>> '{}' = any (v_given.words)
      when v_given.type <> 'number' then false
      else v_given.value::numeric between v_given.low and v_given.high
        and (v_given.kind = 'number' or v_given.value::numeric % 1 = 0) end;
    if not v_good then
      perform tock.refuse(422, v_given.key || ' is ' || case v_given.kind
          when 'flag' then 'true or false'
          when 'word' then pg_catalog.array_to_string(v_given.words, ' or ')
          else pg_catalog.format('a %s from %s to %s', case v_given.kind when 'whole' then 'whole number' else 'number' end,
            v_given.low, v_given.high) end
        || case when v_given.nullable then ', or null' else '' end, v_given.key);
    end if;
    v_clean := v_clean || pg_catalog.jsonb_build_object(v_given.key, case v_given.kind
      when 'whole' then pg_catalog.to_jsonb((v_given.value #>> '{}')::numeric::integer)
      when 'number' then pg_catalog.to_jsonb(pg_catalog.round((v_given.value #>> '{}')::numeric, 6))
      when 'push' then pg_catalog.jsonb_strip_nulls(v_given.value)
      else v_given.value end);
  end loop;
  return v_clean;
end $$;

comment on function tock.check_policy is 'A queue''s settings in the form they are kept in; TK422 names the one that can''t be.';

create or replace function tock.put_queue(p_queue text, p_policy jsonb default '{}')
returns tock.queues
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy jsonb;
  v_row tock.queues;
  v_identity bigint;
begin
  if p_queue is distinct from '*' then
    perform tock.check_queue_name(p_queue);
  end if;
  v_policy := tock.check_policy(p_policy);
  perform tock.check_push_policy(p_queue, v_policy -> 'push');
  perform tock.check_dead_webhook(p_queue, v_policy -> 'dead_webhook');
  perform tock.guard_now();
  v_identity := (select i.last_value from tock.identity i);
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('queue', p_queue));
  if p_queue <> '*' then
    perform tock.make_queue(p_queue);
  end if;
  update tock.queues q set
    (lease_seconds, max_attempts, max_lost, backoff_kind, backoff_base_seconds, backoff_factor, backoff_cap_seconds,
      backoff_jitter, lanes, max_payload_bytes, retention_seconds, timeout_seconds, max_wait_seconds, gate_limit,
      gate_retry, gate_rate_limit, gate_rate_seconds, gate_rate_burst, max_running, rate_limit, rate_seconds, rate_burst,
      keep_results, paused, pause_after_restore, push, dead_webhook) = (
      n.lease_seconds, n.max_attempts, n.max_lost, n.backoff_kind, n.backoff_base_seconds, n.backoff_factor,
      n.backoff_cap_seconds, n.backoff_jitter, n.lanes, n.max_payload_bytes, n.retention_seconds, n.timeout_seconds,
      n.max_wait_seconds, n.gate_limit, n.gate_retry, n.gate_rate_limit, n.gate_rate_seconds, n.gate_rate_burst,
      n.max_running, n.rate_limit, n.rate_seconds, n.rate_burst, n.keep_results, n.paused, n.pause_after_restore,
      n.push, n.dead_webhook),
    -- what was claimed before isn't on record
    limited_at = case when n.max_running is not null and o.max_running is null then pg_catalog.clock_timestamp()
      else q.limited_at end,
    -- where it is at home: anywhere else it is taken for a restored copy
    home = case when v_policy ->> 'paused' = 'false' or not q.pause_after_restore then v_identity else q.home end
  from tock.queues o cross join lateral pg_catalog.jsonb_populate_record(o, v_policy) n
  where q.name = p_queue and o.name = p_queue
  returning q.* into v_row;
  perform tock.act('put_queue', p_queue,
    p_policy || case when p_policy ? 'push' then pg_catalog.jsonb_build_object('push', tock.without_query(p_policy -> 'push')) else '{}' end
    || case when p_policy ? 'dead_webhook'
      then pg_catalog.jsonb_build_object('dead_webhook', tock.without_query(p_policy -> 'dead_webhook')) else '{}' end);
  if v_policy ->> 'dead_webhook' is not null then
    perform tock.open_webhooks();
  end if;
  return v_row;
end $$;

comment on function tock.put_queue is
  'Makes a queue or changes the options named; the others stay. ''*'' is the default policy. TK422 names the option that is out of range.';

create or replace function tock.queue(p_queue text)
returns setof tock.queues
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_row tock.queues;
begin
  select q.* into v_row from tock.queues q where q.name = p_queue;
  if found then
    v_row.paused := tock.is_paused(v_row);
    return next v_row;
  end if;
end $$;

comment on function tock.queue is 'A queue''s policy; no row when nobody has named it yet. paused says true as well while it waits to be resumed after a restore.';

create or replace function tock.lane_of(p_policy tock.queues, p_tenant text, p_bulk text[])
returns smallint
language plpgsql
immutable
as $$
declare
  v_lane integer := (pg_catalog.hashtext(p_tenant) & 2147483647) % p_policy.lanes;
begin
  if p_tenant = any (p_bulk) then
    return v_lane + 512;
  end if;
  while v_lane < 448 and p_policy.heavy ->> v_lane::text <> p_tenant loop
    v_lane := v_lane + 64;
  end loop;
  return v_lane;
end $$;

comment on function tock.lane_of is
  'A tenant''s lane: hashed to one of the queue''s lanes; 64 higher while another tenant fills that one, and so on; 512 higher for what comes in bulk.';
