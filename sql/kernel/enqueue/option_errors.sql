-- The error in an option that option_error() does not check itself: {field, message}, or null.
create or replace function tock.extended_option_error(p_key text, p_value jsonb, p_options jsonb)
returns text[] language plpgsql stable as $$
declare
  v_type text := pg_catalog.jsonb_typeof(p_value);
  v_option record;
  v_good boolean;
  v_of text;
begin
  select o.* into v_option from tock.extended_options() o where o.name = p_key;
  if not found then
    return array[p_key, 'a task has no option ' || p_key
      || '; options: payload, delay_seconds, run_at, priority, tenant, '
      || 'max_attempts, ' || (select pg_catalog.string_agg(o.name, ', ') from tock.extended_options() o)];
  elsif v_option.kind = 'backoff' then
    return tock.backoff_error(p_value);
  elsif v_option.kind = 'pipeline' then
    return tock.pipeline_error(p_value, p_options);
  elsif v_option.kind = 'headers' then
    return tock.headers_error(p_value);
  end if;
  v_good := case v_option.kind
    when 'name' then v_type = 'string'
      and pg_catalog.length(p_value #>> '{}') between v_option.low and v_option.high
      and p_value #>> '{}' !~ '^(\d+|\*)$'
    when 'depends_on' then case when v_type = 'array' then pg_catalog.jsonb_array_length(p_value) <= 10000
      and not exists (
      select from pg_catalog.jsonb_array_elements(p_value) a (id)
      where pg_catalog.jsonb_typeof(a.id) not in ('string', 'number') or not tock.is_id(a.id #>> '{}')
        and (pg_catalog.jsonb_typeof(a.id) = 'number'
          or pg_catalog.length(a.id #>> '{}') not between 1 and 200
          or a.id #>> '{}' ~ '^\d+$')) else false end
    when 'flag' then v_type = 'boolean'
    when 'url' then tock.url_error(p_value) is null
    when 'id' then v_type in ('string', 'number') and tock.is_id(p_value #>> '{}')
    when 'text' then v_type = 'string'
      and pg_catalog.length(p_value #>> '{}') between v_option.low and v_option.high
    when 'word' then v_type = 'string' and p_value #>> '{}' = any (v_option.words)
    when 'instant' then case when v_type = 'string' then tock.is_instant(p_value #>> '{}') else false end
    else case when v_type = 'number' then (p_value #>> '{}')::numeric between v_option.low and v_option.high
      and (v_option.kind = 'number' or (p_value #>> '{}')::numeric % 1 = 0) else false end end;
  if not v_good then
    return array[p_key, p_key || case v_option.kind
      when 'text'
        then pg_catalog.format(' must be a string of %s to %s characters', v_option.low, v_option.high)
      when 'name'
        then pg_catalog.format(' must be a string of %s to %s characters, not only digits and not *',
          v_option.low, v_option.high)
      when 'depends_on' then
        ' must be an array of up to 10,000 task ids, names of tasks in this call, or * for all earlier ones'
      when 'flag' then ' must be true or false'
      when 'url' then ' ' || tock.url_error(p_value)
      when 'id' then ' must be the id of a task'
      when 'word' then ' must be ' || pg_catalog.array_to_string(v_option.words, ' or ')
      when 'instant' then ' must be an ISO 8601 instant with its zone, like 2030-01-31T09:00:00Z'
      else pg_catalog.format(' must be a %s from %s to %s',
        case v_option.kind when 'whole' then 'whole number' else 'number' end,
        v_option.low, v_option.high) end];
  elsif p_key = 'concurrency_key' and pg_catalog.starts_with(p_value #>> '{}', 'key:') then
    return array[p_key, 'a concurrency_key cannot start with key:, which is reserved for unique keys'];
  elsif p_key = 'expires_in_seconds' and p_options ->> 'expires_at' is not null then
    return array[p_key, 'give expires_in_seconds or expires_at, not both'];
  elsif p_key in ('unique_policy', 'unique_seconds', 'on_conflict', 'debounce_max_seconds', 'changed_at')
    and p_options ->> 'unique_key' is null
  then
    return array[p_key, p_key || ' needs a unique_key'];
  end if;
  -- combinations of options
  v_of := case
    when p_key = 'unique_policy' and p_value #>> '{}' = 'period' and p_options ->> 'unique_seconds' is null
      then 'unique_policy period needs unique_seconds'
    when p_key = 'on_conflict' and p_value #>> '{}' = 'throttle' and p_options ->> 'unique_seconds' is null
      then 'on_conflict throttle needs unique_seconds'
    when p_key = 'on_conflict' and p_value #>> '{}' in ('throttle', 'rerun')
      and p_options ->> 'unique_policy' is not null
      then 'on_conflict ' || (p_value #>> '{}') || ' has its own policy: leave out unique_policy'
    when p_key = 'concurrency_key' and p_options ->> 'on_conflict' = 'rerun'
      then 'on_conflict rerun sets the concurrency_key from the unique_key: leave out concurrency_key'
    when p_key = 'unique_seconds' and coalesce(p_options ->> 'unique_policy', '') <> 'period'
      and coalesce(p_options ->> 'on_conflict', '') <> 'throttle'
      then 'unique_seconds needs unique_policy period or on_conflict throttle'
    when p_key in ('on_parent_failure', 'include_results')
      and coalesce(p_options -> 'depends_on', '[]') in ('[]', 'null')
      then p_key || ' needs depends_on'
    when p_key = 'depends_on' and coalesce(p_options ->> 'on_conflict', 'keep') <> 'keep'
      then 'on_conflict ' || (p_options ->> 'on_conflict')
        || ' changes an existing task and keeps its dependencies: leave out depends_on'
    when p_key = 'debounce_max_seconds' and coalesce(p_options ->> 'on_conflict', '') <> 'debounce'
      then 'debounce_max_seconds needs on_conflict debounce' end;
  return case when v_of is not null then array[p_key, v_of] end;
end $$;

-- The error in the backoff of a task: {field, message}, or null.
create or replace function tock.backoff_error(p_backoff jsonb)
returns text[] language plpgsql immutable as $$
declare
  v_part record;
begin
  if pg_catalog.jsonb_typeof(p_backoff) <> 'object' then
    return array['backoff',
      'backoff must be an object with any of kind, base_seconds, factor, cap_seconds, jitter'];
  end if;
  for v_part in
    select o.key, o.value, pg_catalog.jsonb_typeof(o.value) as type, s.*
    from pg_catalog.jsonb_each(p_backoff) o left join tock.queue_settings() s on s.name = 'backoff_' || o.key
  loop
    if v_part.name is null then
      return array['backoff.' || v_part.key, 'backoff has no ' || v_part.key
        || '; it has kind, base_seconds, factor, cap_seconds, jitter'];
    elsif v_part.kind = 'word' and not coalesce(v_part.value #>> '{}' = any (v_part.words), false) then
      return array['backoff.' || v_part.key,
        'kind must be ' || pg_catalog.array_to_string(v_part.words, ' or ')];
    elsif v_part.kind = 'number' and not (case when v_part.type = 'number' then
      (v_part.value #>> '{}')::numeric between v_part.low and v_part.high else false end)
    then
      return array['backoff.' || v_part.key,
        pg_catalog.format('%s must be a number from %s to %s', v_part.key, v_part.low, v_part.high)];
    end if;
  end loop;
  return null;
end $$;

-- The error in the headers of a task: {field, message}, or null. The headers of a task may become headers of
-- an HTTP request, so only characters that are allowed there are valid.
create or replace function tock.headers_error(p_headers jsonb)
returns text[] language plpgsql immutable as $$
declare
  v_name text;
begin
  if pg_catalog.jsonb_typeof(p_headers) <> 'object' then
    return array['headers', 'headers must be an object whose values are strings'];
  elsif (select count(*) from pg_catalog.jsonb_object_keys(p_headers)) > 20
    or pg_catalog.octet_length(p_headers::text) > 8192
  then
    return array['headers', 'a task may have up to 20 headers, with up to 8,192 bytes of JSON in all'];
  end if;
  select h.key into v_name from pg_catalog.jsonb_each(p_headers) h
  where h.key !~ '^[a-z0-9][a-z0-9-]{0,99}$' or pg_catalog.jsonb_typeof(h.value) <> 'string'
    or h.value #>> '{}' !~ '^[\x20-\x7e]*$'
  order by h.key limit 1;
  if found then
    return array['headers.' || pg_catalog.left(v_name, 100),
      'a header must be a string of printable ASCII; its name must have 1 to 100 characters a-z, 0-9 and -'];
  end if;
  return null;
end $$;
