-- Instants are whole seconds since 1970, and so is what the clocks show then ("wall").
create or replace function tock.next_bit(p_bits bigint, p_from integer)
returns integer
language sql
immutable
as $$
  select pg_catalog.round(pg_catalog.ln(nullif((p_bits & (-1::bigint << p_from)) & -(p_bits & (-1::bigint << p_from)), 0)::double precision)
    / 0.6931471805599453)::integer
$$;

comment on function tock.next_bit is 'The lowest bit from one on that is set; null when none is.';

-- croner's rules: what is nearest to a day stays in its month; both days restricted, one of them is enough.
create or replace function tock.cron_days_of(p_plan tock.cron_plan, p_first date)
returns bigint
language plpgsql
immutable
as $$
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

comment on function tock.cron_days_of is 'The days of a month, by its first, that a cron expression names, as bits.';

create or replace function tock.cron_time(p_plan tock.cron_plan, p_from integer)
returns integer
language plpgsql
immutable
as $$
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

comment on function tock.cron_time is 'The first second of a day, from one on, that a cron expression names; null when none is left.';

-- A day of a leap year that has to be some weekday comes again after 40 years at most (the end of a century between):
-- what doesn't come in 50 never does.
create or replace function tock.cron_wall(p_plan tock.cron_plan, p_from bigint)
returns bigint
language plpgsql
immutable
as $$
declare
  v_date date := date '1970-01-01' + (p_from / 86400)::integer;
  v_day integer := pg_catalog.date_part('day', v_date);
  v_month integer := pg_catalog.date_part('year', v_date)::integer * 12 + pg_catalog.date_part('month', v_date)::integer - 1;
  v_last_month integer := v_month + 600;
  v_first date;
  v_days bigint;
  v_time integer := tock.cron_time(p_plan, (p_from % 86400)::integer);
begin
  if v_time is null then
    v_day := v_day + 1;
  end if;
  while v_month <= v_last_month loop
    if p_plan.months & (1::bigint << (v_month % 12 + 1)) <> 0 then
      v_first := pg_catalog.make_date(v_month / 12, v_month % 12 + 1, 1);
      v_days := tock.cron_days_of(p_plan, v_first);
      v_day := tock.next_bit(v_days, v_day);
      if v_day is not null then
        v_first := v_first + v_day - 1;
        return (v_first - date '1970-01-01') * 86400::bigint
          + case when v_first = v_date then v_time else tock.cron_time(p_plan, 0) end;
      end if;
    end if;
    v_month := v_month + 1;
    v_day := 1;
  end loop;
  return null;
end $$;

comment on function tock.cron_wall is 'The first time that clocks show, from one on, that a cron expression names; null when none comes.';

create or replace function tock.clock_offset(p_zone text, p_at bigint)
returns integer
language sql
stable
as $$
  select (pg_catalog.date_part('epoch', pg_catalog.to_timestamp(p_at::double precision) at time zone p_zone)::bigint - p_at)::integer
$$;

comment on function tock.clock_offset is 'By how many seconds the clocks of a time zone are ahead of UTC at an instant.';

create or replace function tock.clock_change(p_zone text, p_from bigint, p_to bigint)
returns bigint
language plpgsql
stable
as $$
declare
  v_offset integer := tock.clock_offset(p_zone, p_from);
  v_before bigint := p_from;
  v_after bigint := p_to;
  v_between bigint;
begin
  while v_after - v_before > 1 loop
    v_between := (v_before + v_after) / 2;
    if tock.clock_offset(p_zone, v_between) = v_offset then
      v_before := v_between;
    else
      v_after := v_between;
    end if;
  end loop;
  return v_after;
end $$;

comment on function tock.clock_change is 'When the clocks of a time zone change between two instants within two days, at the second of which they differ.';

-- An expression whose second, minute and hour have neither * nor a step names fixed times: what the clocks skip of
-- them runs when they have jumped, if that is the same day, and what they show twice runs the first time. Any
-- other runs whenever the clocks show what it names. Within two days clocks change once at most, and
-- within years by up to 25 hours (Apia in 2011): so only two days after the start and before the goal are looked through.
create or replace function tock.cron_after(p_plan tock.cron_plan, p_zone text, p_after timestamptz)
returns timestamptz
language plpgsql
stable
as $$
declare
  v_at bigint := pg_catalog.floor(extract(epoch from p_after))::bigint + 1;
  v_offset integer := tock.clock_offset(p_zone, v_at);
  v_before integer;
  v_wall bigint := v_at + v_offset;
  v_next bigint;
  v_change bigint;
begin
  if p_plan.fixed then
    v_before := tock.clock_offset(p_zone, v_at - 172800);
    if v_before <> v_offset then
      v_change := tock.clock_change(p_zone, v_at - 172800, v_at);
      if v_before > v_offset then
        v_wall := greatest(v_wall, v_change + v_before);
      elsif v_change = v_at and tock.cron_skipped(p_plan, v_change, v_before, v_offset) then
        return pg_catalog.to_timestamp(v_change);
      end if;
    end if;
  end if;
  for v_step in 1 .. 100 loop
    v_next := tock.cron_wall(p_plan, v_wall) - v_offset;
    if v_next is null then
      return null;
    elsif tock.clock_offset(p_zone, least(v_next, v_at + 172800)) <> v_offset then
      v_at := tock.clock_change(p_zone, v_at, least(v_next, v_at + 172800));
      v_before := v_offset;
      v_offset := tock.clock_offset(p_zone, v_at);
      if p_plan.fixed and v_before < v_offset and tock.cron_skipped(p_plan, v_at, v_before, v_offset) then
        return pg_catalog.to_timestamp(v_at);
      end if;
      v_wall := v_at + case when p_plan.fixed then greatest(v_before, v_offset) else v_offset end;
    elsif v_next <= v_at + 172800 then
      return pg_catalog.to_timestamp(v_next);
    else
      v_at := v_next - 172800;
      v_offset := tock.clock_offset(p_zone, v_at);
      v_wall := greatest(v_wall, v_at + v_offset);
    end if;
  end loop;
  return null;  -- thirty times in a row what it names was skipped, as is half past two of each last Sunday of March
end $$;

comment on function tock.cron_after is 'The first instant after another at which a cron expression fires in a time zone; null when none comes.';

create or replace function tock.cron_skipped(p_plan tock.cron_plan, p_change bigint, p_before integer, p_after integer)
returns boolean
language sql
stable
as $$
  select coalesce(tock.cron_wall(p_plan, greatest(p_change + p_before, (p_change + p_after) / 86400 * 86400))
    < p_change + p_after, false)
$$;

comment on function tock.cron_skipped is 'Whether clocks that jump ahead skip a time that a cron expression names, of the day they come to.';
