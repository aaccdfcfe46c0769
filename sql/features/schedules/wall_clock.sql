-- The first local time from p_from on that a cron expression names; null if there is none. 29 February falls
-- on a given weekday again after at most 40 years (across the end of a century). So a day that is not found
-- within 50 years does not exist.
create or replace function tock.cron_wall(p_plan tock.cron_plan, p_from bigint)
returns bigint language plpgsql immutable as $$
declare
  v_date date := date '1970-01-01' + (p_from / 86400)::integer;
  v_day integer := pg_catalog.date_part('day', v_date);
  v_month integer := pg_catalog.date_part('year', v_date)::integer * 12
    + pg_catalog.date_part('month', v_date)::integer - 1;
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

-- The offset of a time zone from UTC in seconds at an instant.
create or replace function tock.clock_offset(p_zone text, p_at bigint)
returns integer language sql stable as $$
  select (pg_catalog.date_part('epoch',
    pg_catalog.to_timestamp(p_at::double precision) at time zone p_zone)::bigint - p_at)::integer
$$;

-- The second at which the clocks of a time zone change, between two instants at most two days apart.
create or replace function tock.clock_change(p_zone text, p_from bigint, p_to bigint)
returns bigint language plpgsql stable as $$
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
