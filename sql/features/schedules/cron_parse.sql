-- A cron expression of 5 or 6 fields as bit sets; TK422 names the invalid part. The grammar is that of croner
-- with sloppyRanges, without years. test/sql/features/schedules/cron-library.test.ts compares both.
create or replace function tock.parse_cron(p_cron text)
returns tock.cron_plan language plpgsql stable as $$
declare
  -- in a Turkish locale, FRI has another lower case
  v_text text := pg_catalog.lower(pg_catalog.btrim(p_cron, E' \t') collate "C");
  v_parts text[];
  v_plan tock.cron_plan;
begin
  if coalesce(pg_catalog.length(v_text), 0) not between 1 and 500 then
    perform tock.refuse(422, 'cron must be a string of 1 to 500 characters', 'cron');
  end if;
  v_text := case v_text when '@yearly' then '0 0 1 1 *' when '@annually' then '0 0 1 1 *'
    when '@monthly' then '0 0 1 * *'
    when '@weekly' then '0 0 * * 0' when '@daily' then '0 0 * * *' when '@midnight' then '0 0 * * *'
    when '@hourly' then '0 * * * *' else v_text end;
  v_parts := pg_catalog.regexp_split_to_array(pg_catalog.translate(v_text, '?', '*'), '[ \t]+');
  if pg_catalog.cardinality(v_parts) = 5 then
    v_parts := array['0'] || v_parts;
  elsif pg_catalog.cardinality(v_parts) <> 6 then
    perform tock.refuse(422,
      pg_catalog.format('a cron expression must have 5 or 6 fields, but %L has %s', p_cron,
        pg_catalog.cardinality(v_parts)), 'cron',
        '[second] minute hour day-of-month month day-of-week; or @yearly, @annually, @monthly, @weekly, '
        '@daily, @midnight, @hourly');
  end if;
  v_plan.seconds := tock.cron_field('second', v_parts[1]);
  v_plan.minutes := tock.cron_field('minute', v_parts[2]);
  v_plan.hours := tock.cron_field('hour', v_parts[3]);
  v_plan := tock.cron_days(v_plan, v_parts[4]);
  v_plan.months := tock.cron_field('month', v_parts[5]);
  v_plan := tock.cron_weekdays(v_plan, v_parts[6]);
  v_plan.fixed := pg_catalog.concat(v_parts[1], v_parts[2], v_parts[3]) !~ '[*/]';
  return v_plan;
end $$;

-- Raises TK422 for an invalid part of a cron expression, with what is allowed.
create or replace function tock.refuse_cron(p_field text, p_item text)
returns void language plpgsql immutable as $$
begin
  perform tock.refuse(422,
    pg_catalog.format('the %s field of this cron expression has %L, which is invalid', p_field, p_item),
    'cron', p_field || ': ' || case p_field
      when 'second' then '0-59' when 'minute' then '0-59' when 'hour' then '0-23'
      when 'day-of-month'
        then '1-31, L for the last day, LW for the last workday, 15W for the workday nearest to the 15th'
      when 'month' then '1-12 or JAN-DEC'
      else '0-7 (0 and 7 are Sunday) or SUN-SAT, FRI#2 for the second, FRIL for the last, +FRI for both '
        'days to hold' end
    || '; *, lists 1,3, ranges 1-5, steps */2, 1-9/2 and 1/2');
end $$;

-- The numbers that a field of a cron expression names, as bits.
create or replace function tock.cron_field(p_field text, p_text text)
returns bigint language plpgsql immutable as $$
declare
  v_low integer := case when p_field in ('day-of-month', 'month') then 1 else 0 end;
  v_most integer := case p_field when 'hour' then 23 when 'day-of-month' then 31 when 'month' then 12
    when 'day-of-week' then 6
    else 59 end;
  v_item text;
  v_read text[];
  v_from integer;
  v_to integer;
  v_step integer;
  v_bits bigint := 0;
begin
  foreach v_item in array pg_catalog.string_to_array(p_text, ',') loop
    v_read := pg_catalog.regexp_match(tock.cron_names(p_field, v_item),
      '^(?:(\*)|([0-9]{1,4})(?:-([0-9]{1,4}))?)(?:/([0-9]{1,4}))?$');
    v_from := coalesce(v_read[2]::integer, v_low);
    v_step := v_read[4]::integer;
    v_to := case when v_read[3] is not null then v_read[3]::integer
      when v_read[1] is not null or v_step is not null then v_most
      else v_from end;
    -- 7 is Sunday too
    if v_read is null or v_from < v_low or v_to < v_from or v_to > v_most + (p_field = 'day-of-week')::integer
      or v_step not between 1 and v_most - v_low + 1
    then
      perform tock.refuse_cron(p_field, v_item);
    end if;
    for v_n in v_from .. v_to by coalesce(v_step, 1) loop
      v_bits := v_bits | (1::bigint << v_n);
    end loop;
  end loop;
  if v_bits = 0 then
    perform tock.refuse_cron(p_field, p_text);
  end if;
  return v_bits;
end $$;

-- A part of a cron field with numbers instead of the names of months and days. A name is replaced only if it
-- stands alone and is not a step: not in SUN6 or */FEB.
create or replace function tock.cron_names(p_field text, p_item text)
returns text language plpgsql immutable as $$
declare
  v_names text[] := case p_field
    when 'month' then array['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep',
      'oct', 'nov', 'dec']
    when 'day-of-week' then array['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] else '{}' end;
  v_item text := case when p_field = 'day-of-week' then pg_catalog.regexp_replace(p_item, '-sun\y', '-7')
    else p_item end;
begin
  if v_item ~ '[a-z]' then
    for v_n in 1 .. pg_catalog.cardinality(v_names) loop
      v_item := pg_catalog.regexp_replace(v_item, '(?<!/)\y' || v_names[v_n] || '\y',
        (v_n - (p_field = 'day-of-week')::integer)::text, 'g');
    end loop;
  end if;
  return v_item;
end $$;

-- The plan with the day-of-month field of its expression.
create or replace function tock.cron_days(p_plan tock.cron_plan, p_text text)
returns tock.cron_plan language plpgsql immutable as $$
declare
  v_plan tock.cron_plan := p_plan;
  v_item text;
  v_rest text[] := '{}';
begin
  v_plan.any_day := p_text = '*';
  v_plan.last_workday := p_text = 'lw';
  v_plan.last_day := false;
  v_plan.nearest := 0;
  v_plan.days := 0;
  if v_plan.last_workday then
    return v_plan;
  end if;
  foreach v_item in array pg_catalog.string_to_array(p_text, ',') loop
    if v_item = 'l' then
      v_plan.last_day := true;
    elsif v_item ~ '^[0-9]{1,2}w$' then
      v_plan.nearest := v_plan.nearest | tock.cron_field('day-of-month', pg_catalog.rtrim(v_item, 'w'));
    else
      v_rest := v_rest || v_item;
    end if;
  end loop;
  if v_rest <> '{}' then
    v_plan.days := tock.cron_field('day-of-month', pg_catalog.array_to_string(v_rest, ','));
  end if;
  return v_plan;
end $$;

-- The plan with the day-of-week field of its expression.
create or replace function tock.cron_weekdays(p_plan tock.cron_plan, p_text text)
returns tock.cron_plan language plpgsql immutable as $$
declare
  v_plan tock.cron_plan := p_plan;
  v_item text;
  v_bits bigint;
  v_which integer;
begin
  v_plan.both_days := pg_catalog.starts_with(p_text, '+');
  v_plan.any_weekday := p_text in ('*', '+*');
  v_plan.weekdays := array[0, 0, 0, 0, 0, 0, 0];
  foreach v_item in array pg_catalog.string_to_array(pg_catalog.regexp_replace(p_text, '^\+', ''), ',') loop
    v_which := case when v_item ~ '^[^/*]+#[1-5]$' then 1 << (pg_catalog.right(v_item, 1)::integer - 1)
      when v_item ~ '^[^/*]+l$' then 32 else 63 end;
    v_bits := tock.cron_field('day-of-week', case when v_which = 63 then v_item
      else pg_catalog.regexp_replace(v_item, '(#.|l)$', '') end);
    for v_n in 0 .. 7 loop
      if v_bits & (1 << v_n) <> 0 then
        v_plan.weekdays[v_n % 7 + 1] := v_plan.weekdays[v_n % 7 + 1] | v_which;
      end if;
    end loop;
  end loop;
  if p_text in ('', '+') then
    perform tock.refuse_cron('day-of-week', p_text);
  end if;
  return v_plan;
end $$;
