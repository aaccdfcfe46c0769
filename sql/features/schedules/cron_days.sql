-- The lowest set bit from p_from on; null if there is none. Instants are whole seconds since 1970, and so are
-- the local times of a time zone ("wall").
create or replace function tock.next_bit(p_bits bigint, p_from integer)
returns integer language sql immutable as $$
  select pg_catalog.round(
    pg_catalog.ln(nullif((p_bits & (-1::bigint << p_from)) & -(p_bits & (-1::bigint << p_from)),
      0)::double precision)
    / 0.6931471805599453)::integer
$$;

-- The days of a month that a cron expression names, as bits; p_first is the first day of the month. croner's
-- rules: the workday nearest to a day stays in its month; if both kinds of days are restricted, one of them
-- is enough.
create or replace function tock.cron_days_of(p_plan tock.cron_plan, p_first date)
returns bigint language plpgsql immutable as $$
declare
  v_length integer := (p_first + interval '1 month')::date - p_first;
  v_weekday integer := pg_catalog.date_part('dow', p_first);
  v_last integer := (v_weekday + v_length - 1) % 7;
  v_days bigint := p_plan.days & ((1::bigint << (v_length + 1)) - 1);
  v_named bigint := 0;
  v_day integer;
  v_which smallint;
begin
  if p_plan.last_day then
    v_days := v_days | (1::bigint << v_length);
  elsif p_plan.last_workday then
    v_days := 1::bigint << (v_length - case v_last when 0 then 2 when 6 then 1 else 0 end);
  end if;
  v_day := tock.next_bit(p_plan.nearest, 1);
  while v_day <= v_length loop
    v_days := v_days | (1::bigint << (v_day + case (v_weekday + v_day - 1) % 7
      when 0 then case when v_day = v_length then -2 else 1 end
      when 6 then case when v_day = 1 then 2 else -1 end else 0 end));
    v_day := tock.next_bit(p_plan.nearest, v_day + 1);
  end loop;
  if p_plan.any_weekday then
    return v_days;
  end if;
  for v_n in 0 .. 6 loop
    v_which := p_plan.weekdays[v_n + 1];
    continue when v_which = 0;
    v_day := 1 + (v_n - v_weekday + 7) % 7;
    for v_k in 0 .. 4 loop
      exit when v_day > v_length;
      if v_which & (1 << v_k) <> 0 or (v_which & 32 <> 0 and v_day + 7 > v_length) then
        v_named := v_named | (1::bigint << v_day);
      end if;
      v_day := v_day + 7;
    end loop;
  end loop;
  return case when p_plan.any_day or p_plan.both_days then v_days & v_named else v_days | v_named end;
end $$;

-- The first second of a day from p_from on that a cron expression names; null if none is left.
create or replace function tock.cron_time(p_plan tock.cron_plan, p_from integer)
returns integer language plpgsql immutable as $$
declare
  v_hour integer := tock.next_bit(p_plan.hours, p_from / 3600);
  v_minute integer := 0;
  v_second integer;
begin
  if v_hour = p_from / 3600 then
    v_minute := tock.next_bit(p_plan.minutes, p_from / 60 % 60);
    if v_minute = p_from / 60 % 60 then
      v_second := tock.next_bit(p_plan.seconds, p_from % 60);
      if v_second is null then
        v_minute := tock.next_bit(p_plan.minutes, v_minute + 1);
      end if;
    end if;
    if v_minute is null then
      v_hour := tock.next_bit(p_plan.hours, v_hour + 1);
    end if;
  else
    v_minute := null;
  end if;
  v_minute := coalesce(v_minute, tock.next_bit(p_plan.minutes, 0));
  return v_hour * 3600 + v_minute * 60 + coalesce(v_second, tock.next_bit(p_plan.seconds, 0));
end $$;
