-- Raises TK422 for a name that is not in the time zone database. PostgreSQL reads EST or CEST as a fixed
-- offset, and FOO5 as a POSIX rule. Any other known name is in the time zone database. (pg_timezone_names
-- would read all its files.)
create or replace function tock.check_time_zone(p_zone text)
returns void language plpgsql stable as $$
begin
  if p_zone in ('UTC', 'GMT') then
    return;
  end if;
  if p_zone !~ '^([A-Za-z][A-Za-z_-]*(/[A-Za-z][A-Za-z_-]*)*|Etc/GMT([+-]?\d{1,2}))$'
    or p_zone ~* '^(localtime|posixrules|factory|posix/.*|right/.*)$'
    or exists (select from pg_catalog.pg_timezone_abbrevs a where a.abbrev = pg_catalog.upper(p_zone))
  then
    raise invalid_parameter_value;
  end if;
  perform pg_catalog.clock_timestamp() at time zone p_zone;
exception
  when invalid_parameter_value then
    perform tock.refuse(422, pg_catalog.format('there is no time zone %s', p_zone), 'time_zone',
      'use a name of the IANA time zone database, like Europe/Berlin, or UTC');
end $$;

-- The settings of a schedule with their kind and range.
create or replace function tock.schedule_settings()
returns table (name text, kind text, low integer, high integer, words text[]) language sql immutable
as $$
  values ('queue', 'text', 1, 100, null::text[]), ('payload', 'any', null, null, null),
    ('options', 'object', null, null, null),
    ('cron', 'text', 1, 500, null), ('every_seconds', 'whole', 1, 315360000, null),
    ('run_at', 'instant', null, null, null),
    ('time_zone', 'text', 1, 100, null), ('jitter_seconds', 'whole', 0, 86400, null),
    ('starts_at', 'instant', null, null, null), ('ends_at', 'instant', null, null, null),
    ('overlap', 'word', null, null, array['queue', 'skip', 'replace']),
    ('missed', 'word', null, null, array['one', 'skip', 'all']), ('missed_limit', 'whole', 1, 1000, null),
    ('missed_after_seconds', 'whole', 0, 86400, null), ('fire_as', 'text', 1, 100, null)
$$;

-- Raises TK422 for the first invalid setting of a schedule.
create or replace function tock.check_schedule_settings(p_settings jsonb)
returns void language plpgsql immutable as $$
declare
  v_setting record;
begin
  if pg_catalog.jsonb_typeof(p_settings) is distinct from 'object' then
    perform tock.refuse(422, 'the settings of a schedule must be an object', 'settings');
  end if;
  for v_setting in
    select o.key, o.value, o.value #>> '{}' as text, pg_catalog.jsonb_typeof(o.value) as type, r.*
    from pg_catalog.jsonb_each(p_settings) o left join tock.schedule_settings() r on r.name = o.key
  loop
    if v_setting.name is null then
      perform tock.refuse(422, 'a schedule has no setting ' || v_setting.key, v_setting.key,
        'settings: ' || (select pg_catalog.string_agg(r.name, ', ') from tock.schedule_settings() r));
    elsif v_setting.type <> 'null' and not (case v_setting.kind
      when 'any' then true
      when 'object' then v_setting.type = 'object'
      when 'text' then v_setting.type = 'string'
        and pg_catalog.length(v_setting.text) between v_setting.low and v_setting.high
      when 'word' then v_setting.type = 'string' and v_setting.text = any (v_setting.words)
      when 'instant' then case when v_setting.type = 'string' then tock.is_instant(v_setting.text)
        else false end
      else case when v_setting.type = 'number'
        then v_setting.text::numeric between v_setting.low and v_setting.high
          and v_setting.text::numeric % 1 = 0
        else false end end)
    then
      perform tock.refuse(422, v_setting.key || ' must be ' || case v_setting.kind
        when 'object' then 'an object'
        when 'text' then pg_catalog.format('a string of %s to %s characters', v_setting.low, v_setting.high)
        when 'word' then pg_catalog.array_to_string(v_setting.words, ' or ')
        when 'instant' then 'an ISO 8601 instant with its zone, like 2030-01-31T09:00:00Z'
        else pg_catalog.format('a whole number from %s to %s', v_setting.low, v_setting.high) end,
        v_setting.key);
    end if;
  end loop;
end $$;

-- Raises TK422 unless the tasks of a schedule can be enqueued.
create or replace function tock.check_schedule_task(p_schedule tock.schedules)
returns void language plpgsql stable as $$
declare
  v_bytes integer;
  v_most integer := (tock.policy(p_schedule.queue)).max_payload_bytes;
  v_key text;
  v_error text[];
begin
  select k into v_key from pg_catalog.jsonb_object_keys(p_schedule.options) k
  where k in ('payload', 'run_at', 'expires_at', 'name', 'depends_on', 'on_parent_failure',
    'include_results', 'parent', 'changed_at') limit 1;
  if found then
    perform tock.refuse(422, pg_catalog.format('the tasks of a schedule have no %s of their own', v_key),
      'options.' || v_key,
      case v_key when 'expires_at' then 'use expires_in_seconds'
        when 'payload' then 'put payload beside options'
        when 'run_at' then 'use delay_seconds' end);
  end if;
  v_error := tock.option_error(p_schedule.options);
  if v_error is not null then
    perform tock.refuse(422, v_error[2], 'options.' || v_error[1]);
  elsif p_schedule.options ->> 'pipeline' is not null
    and not p_schedule.options -> 'pipeline' ? p_schedule.queue
  then
    perform tock.refuse(422, pg_catalog.format('queue %s is not a stage of this pipeline', p_schedule.queue),
      'options.pipeline', 'set queue to the stage where the tasks are to start');
  elsif p_schedule.fire_as is not null and pg_catalog.jsonb_typeof(p_schedule.payload) <> 'object' then
    perform tock.refuse(422, 'with fire_as the payload must be an object: the fire is added to it',
      'payload');
  end if;
  v_bytes := pg_catalog.octet_length(
    (tock.task_of(p_schedule, pg_catalog.clock_timestamp()) -> 'payload')::text);
  if v_bytes > v_most then
    perform tock.refuse_large_payload(v_most, 'payload');
  elsif p_schedule.missed = 'all' and p_schedule.missed_limit > 100
    and p_schedule.options ->> 'unique_key' is not null
  then
    perform tock.refuse(422, 'with a unique_key missed_limit must be at most 100', 'missed_limit');
  elsif p_schedule.missed = 'all' and v_bytes::bigint * p_schedule.missed_limit > 67108864 then
    perform tock.refuse(422, pg_catalog.format(
      'missed_limit must be at most %s: the payload has %s bytes, and all missed fires together at most '
      '64 MiB', 67108864 / v_bytes, v_bytes), 'missed_limit');
  end if;
end $$;

-- The settings of a schedule as a row, with defaults; TK422 names an invalid setting.
create or replace function tock.check_schedule(p_schedule text, p_settings jsonb)
returns tock.schedules language plpgsql stable as $$
declare
  v_settings jsonb;
  v_row tock.schedules;
begin
  if p_schedule is null or p_schedule !~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$' then
    perform tock.refuse(422,
      'a schedule name has 1 to 200 letters, digits and _ . : -, and starts with a letter or digit',
      'schedule');
  end if;
  perform tock.check_schedule_settings(p_settings);
  v_settings := (select coalesce(pg_catalog.jsonb_object_agg(o.key,
    case when r.kind = 'whole' then pg_catalog.to_jsonb(o.value::integer) else o.value end), '{}')
    from pg_catalog.jsonb_each(p_settings) o join tock.schedule_settings() r on r.name = o.key
    where o.value <> 'null');
  v_row := pg_catalog.jsonb_populate_record(null::tock.schedules,
    '{"options": {}, "time_zone": "UTC", "jitter_seconds": 0,
    "overlap": "queue", "missed": "one", "missed_limit": 100, "missed_after_seconds": 60}' || v_settings);
  v_row.name := p_schedule;
  perform tock.check_queue(v_row.queue);
  if pg_catalog.num_nonnulls(v_row.cron, v_row.every_seconds, v_row.run_at) <> 1 then
    perform tock.refuse(422, 'a schedule must have exactly one of cron, every_seconds and run_at', 'cron');
  elsif v_row.run_at is not null and pg_catalog.num_nonnulls(v_row.starts_at, v_row.ends_at) > 0 then
    perform tock.refuse(422, 'a schedule with run_at fires once: leave out starts_at and ends_at', 'run_at');
  elsif v_row.ends_at <= v_row.starts_at then
    perform tock.refuse(422, 'ends_at must be after starts_at', 'ends_at');
  end if;
  perform tock.check_time_zone(v_row.time_zone);
  if v_row.cron is not null then
    v_row.plan := tock.parse_cron(v_row.cron);
  elsif v_row.every_seconds is not null then
    v_row.anchor_at := coalesce(v_row.starts_at,
      pg_catalog.date_trunc('second', pg_catalog.clock_timestamp()) + interval '1 second'
        * v_row.every_seconds);
  end if;
  perform tock.check_schedule_task(v_row);
  return v_row;
end $$;

-- The task that a schedule enqueues for a fire; fire_as is the key of the payload that gets the fire.
create or replace function tock.task_of(p_schedule tock.schedules, p_fire_at timestamptz)
returns jsonb language sql stable as $$
  select p_schedule.options
    || pg_catalog.jsonb_build_object('payload', case when p_schedule.fire_as is null then p_schedule.payload
    else coalesce(p_schedule.payload, '{}') || pg_catalog.jsonb_build_object(p_schedule.fire_as,
      pg_catalog.jsonb_build_object('schedule', p_schedule.name,
        'fire_at', pg_catalog.to_char(p_fire_at at time zone 'UTC',
        'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))) end)
$$;
