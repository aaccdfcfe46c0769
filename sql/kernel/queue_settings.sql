-- The settings of a queue with their kind and range. Null switches a nullable setting off.
create or replace function tock.queue_settings()
returns table (name text, kind text, low integer, high integer, words text[], nullable boolean)
language sql immutable as $$
  values ('lease_seconds', 'whole', 1, 86400, null::text[], false),
    ('max_attempts', 'whole', 1, 1000, null, false),
    ('max_lost', 'whole', 1, 1000, null, false),
    ('backoff_kind', 'word', null, null, array['fixed', 'linear', 'exponential'], false),
    ('backoff_base_seconds', 'number', 0, 86400, null, false),
    ('backoff_factor', 'number', 1, 10, null, false),
    ('backoff_cap_seconds', 'number', 0, 2678400, null, false),
    ('backoff_jitter', 'number', 0, 1, null, false),
    ('lanes', 'whole', 1, 64, null, false), ('max_payload_bytes', 'whole', 1024, 4194304, null, false),
    ('retention_seconds', 'whole', 60, 315360000, null, false),
    ('timeout_seconds', 'whole', 1, 2678400, null, true),
    ('max_wait_seconds', 'whole', 1, 315360000, null, true),
    ('concurrency_limit', 'whole', 1, 1000, null, false),
    ('concurrency_retry', 'word', null, null, array['keep', 'yield'], false),
    ('concurrency_rate_limit', 'whole', 1, 1000000, null, true),
    ('concurrency_rate_seconds', 'whole', 1, 86400, null, false),
    ('concurrency_rate_burst', 'whole', 1, 1000000, null, true),
    ('max_running', 'whole', 1, 10000, null, true),
    ('rate_limit', 'whole', 1, 1000000, null, true), ('rate_seconds', 'whole', 1, 86400, null, false),
    ('rate_burst', 'whole', 1, 1000000, null, true), ('keep_results', 'flag', null, null, null, false),
    ('paused', 'flag', null, null, null, false), ('pause_after_restore', 'flag', null, null, null, false),
    ('push', 'push', null, null, null, true), ('dead_webhook', 'push', null, null, null, true)
$$;

-- The settings of a queue in the form in which they are stored; TK422 names an invalid one.
create or replace function tock.check_policy(p_policy jsonb)
returns jsonb language plpgsql immutable as $$
declare
  v_setting record;
  v_clean jsonb := '{}';
  v_good boolean;
begin
  if pg_catalog.jsonb_typeof(p_policy) is distinct from 'object' then
    perform tock.refuse(422, 'policy must be an object', 'policy');
  end if;
  for v_setting in
    select o.key, o.value, pg_catalog.jsonb_typeof(o.value) as type, r.*
    from pg_catalog.jsonb_each(p_policy) o left join tock.queue_settings() r on r.name = o.key
  loop
    if v_setting.name is null then
      perform tock.refuse(422, 'a queue has no setting ' || v_setting.key, v_setting.key,
        'settings: ' || (select pg_catalog.string_agg(r.name, ', ') from tock.queue_settings() r));
    end if;
    v_good := case
      when v_setting.type = 'null' then v_setting.nullable
      when v_setting.kind = 'push' then true  -- checked by check_push_policy() and check_dead_webhook()
      when v_setting.kind = 'flag' then v_setting.type = 'boolean'
      when v_setting.kind = 'word'
        then v_setting.type = 'string' and v_setting.value #>> '{}' = any (v_setting.words)
      when v_setting.type <> 'number' then false
      else v_setting.value::numeric between v_setting.low and v_setting.high
        and (v_setting.kind = 'number' or v_setting.value::numeric % 1 = 0) end;
    if not v_good then
      perform tock.refuse(422, v_setting.key || ' must be ' || case v_setting.kind
          when 'flag' then 'true or false'
          when 'word' then pg_catalog.array_to_string(v_setting.words, ' or ')
          else pg_catalog.format('a %s from %s to %s', case v_setting.kind when 'whole' then 'whole number'
            else 'number' end,
            v_setting.low, v_setting.high) end
        || case when v_setting.nullable then ', or null' else '' end, v_setting.key);
    end if;
    v_clean := v_clean || pg_catalog.jsonb_build_object(v_setting.key, case v_setting.kind
      when 'whole' then pg_catalog.to_jsonb((v_setting.value #>> '{}')::numeric::integer)
      when 'number' then pg_catalog.to_jsonb(pg_catalog.round((v_setting.value #>> '{}')::numeric, 6))
      when 'push' then pg_catalog.jsonb_strip_nulls(v_setting.value)
      else v_setting.value end);
  end loop;
  return v_clean;
end $$;
