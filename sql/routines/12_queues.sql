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
    insert into tock.queues (name, lease_seconds, max_attempts, max_lost, backoff_base_seconds,
      backoff_factor, backoff_cap_seconds, backoff_jitter, lanes, max_payload_bytes, retention_seconds,
      pause_after_restore, home)
    select p_queue, q.lease_seconds, q.max_attempts, q.max_lost, q.backoff_base_seconds,
      q.backoff_factor, q.backoff_cap_seconds, q.backoff_jitter, q.lanes, q.max_payload_bytes, q.retention_seconds,
      q.pause_after_restore, q.home
    from tock.queues q where q.name = '*'
    on conflict do nothing;
  end if;
exception
  when serialization_failure then null;  -- made since this transaction's snapshot was taken
end $$;

comment on function tock.make_queue is 'Makes a queue named for the first time, with the default policy.';

create or replace function tock.put_queue(p_queue text, p_policy jsonb default '{}')
returns tock.queues
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_option record;
  v_row tock.queues;
  v_identity bigint;
begin
  if p_queue is distinct from '*' then
    perform tock.check_queue_name(p_queue);
  end if;
  if pg_catalog.jsonb_typeof(p_policy) is distinct from 'object' then
    perform tock.refuse(422, 'a policy is an object', 'policy');
  end if;
  for v_option in
    select o.key, o.value, pg_catalog.jsonb_typeof(o.value) as type, r.low, r.high, r.whole
    from pg_catalog.jsonb_each(p_policy) o
    left join (values
      ('lease_seconds', 1, 86400, true), ('max_attempts', 1, 1000, true), ('max_lost', 1, 1000, true),
      ('backoff_base_seconds', 0, 86400, false), ('backoff_factor', 1, 10, false),
      ('backoff_cap_seconds', 0, 2678400, false), ('backoff_jitter', 0, 1, false), ('lanes', 1, 64, true),
      ('max_payload_bytes', 1024, 4194304, true), ('retention_seconds', 60, 315360000, true)) r (name, low, high, whole) on r.name = o.key
  loop
    if v_option.key in ('paused', 'pause_after_restore') then
      if v_option.type <> 'boolean' then
        perform tock.refuse(422, v_option.key || ' is true or false', v_option.key);
      end if;
    elsif v_option.low is null then
      perform tock.refuse(422, 'a queue has no option ' || v_option.key, v_option.key, 'options: lease_seconds, '
        'max_attempts, max_lost, backoff_base_seconds, backoff_factor, backoff_cap_seconds, backoff_jitter, lanes, '
        'max_payload_bytes, retention_seconds, paused, pause_after_restore');
    elsif (case when v_option.type = 'number' then v_option.value::numeric not between v_option.low and v_option.high
      or (v_option.whole and v_option.value::numeric % 1 <> 0) else true end)
    then
      perform tock.refuse(422, pg_catalog.format('%s is a %s from %s to %s', v_option.key,
        case when v_option.whole then 'whole number' else 'number' end, v_option.low, v_option.high), v_option.key);
    end if;
  end loop;
  perform tock.guard_now();
  v_identity := (select i.last_value from tock.identity i);
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(), tock.named_key('queue', p_queue));
  if p_queue <> '*' then
    perform tock.make_queue(p_queue);
  end if;
  update tock.queues q set
    lease_seconds = coalesce((p_policy ->> 'lease_seconds')::numeric::integer, q.lease_seconds),
    max_attempts = coalesce((p_policy ->> 'max_attempts')::numeric::integer, q.max_attempts),
    max_lost = coalesce((p_policy ->> 'max_lost')::numeric::integer, q.max_lost),
    backoff_base_seconds = coalesce(pg_catalog.round((p_policy ->> 'backoff_base_seconds')::numeric, 6)::float8, q.backoff_base_seconds),
    backoff_factor = coalesce(pg_catalog.round((p_policy ->> 'backoff_factor')::numeric, 6)::float8, q.backoff_factor),
    backoff_cap_seconds = coalesce(pg_catalog.round((p_policy ->> 'backoff_cap_seconds')::numeric, 6)::float8, q.backoff_cap_seconds),
    backoff_jitter = coalesce(pg_catalog.round((p_policy ->> 'backoff_jitter')::numeric, 6)::float8, q.backoff_jitter),
    lanes = coalesce((p_policy ->> 'lanes')::numeric::integer, q.lanes),
    max_payload_bytes = coalesce((p_policy ->> 'max_payload_bytes')::numeric::integer, q.max_payload_bytes),
    retention_seconds = coalesce((p_policy ->> 'retention_seconds')::numeric::integer, q.retention_seconds),
    paused = coalesce((p_policy ->> 'paused')::boolean, q.paused),
    pause_after_restore = coalesce((p_policy ->> 'pause_after_restore')::boolean, q.pause_after_restore),
    -- where it is at home: anywhere else it is taken for a restored copy
    home = case when p_policy ->> 'paused' = 'false' or not q.pause_after_restore then v_identity else q.home end
  where q.name = p_queue
  returning q.* into v_row;
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
