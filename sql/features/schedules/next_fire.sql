-- The first instant after p_after at which a schedule fires; null if there is none.
create or replace function tock.next_fire(p_schedule tock.schedules, p_after timestamptz)
returns timestamptz language plpgsql stable as $$
declare
  v_after timestamptz := greatest(p_after, p_schedule.starts_at - interval '1 microsecond');
  v_next timestamptz;
begin
  v_next := case
    when p_schedule.run_at is not null then case when p_schedule.run_at > v_after then p_schedule.run_at end
    when p_schedule.every_seconds is null then tock.cron_after(p_schedule.plan, p_schedule.time_zone, v_after)
    when v_after < p_schedule.anchor_at then p_schedule.anchor_at
    else p_schedule.anchor_at + interval '1 second' * p_schedule.every_seconds * (1 + pg_catalog.floor(
      extract(epoch from v_after - p_schedule.anchor_at) / p_schedule.every_seconds)::double precision) end;
  return case when v_next >= p_schedule.ends_at then null else v_next end;
end $$;

-- The last fire of a schedule up to an instant; p_from is a fire. The function bisects the time between a
-- fire and p_upto, so a schedule with a fire each second takes about twenty steps for a month.
create or replace function tock.last_fire(p_schedule tock.schedules, p_from timestamptz, p_upto timestamptz)
returns timestamptz language plpgsql stable as $$
declare
  v_fire timestamptz := p_from;
  v_end timestamptz := p_upto;
  v_middle timestamptz;
  v_next timestamptz;
begin
  loop
    v_next := tock.next_fire(p_schedule, v_fire);
    exit when v_next is null or v_next > p_upto;
    v_fire := v_next;
    v_middle := v_fire + (v_end - v_fire) / 2;
    v_next := tock.next_fire(p_schedule, v_middle);
    if v_next <= p_upto then
      v_fire := v_next;
    else
      v_end := v_middle;
    end if;
  end loop;
  return v_fire;
end $$;

-- The due time of a fire of a schedule: its instant, or up to its jitter later. The jitter is a hash, so a
-- fire has the same jitter whenever it is computed.
create or replace function tock.due_of(p_schedule tock.schedules, p_fire_at timestamptz)
returns timestamptz language sql stable as $$
  select p_fire_at + interval '1 millisecond' * case p_schedule.jitter_seconds when 0 then 0 else
    ((pg_catalog.hashtextextended(p_schedule.name,
      extract(epoch from p_fire_at)::bigint) & 9223372036854775807)
      % (p_schedule.jitter_seconds * 1000 + 1))::double precision end
$$;

-- What a schedule whose next fire is p_fire_at has to fire now, by its rule for missed fires. A fire is
-- missed if it would be more than missed_after_seconds late. The setting missed decides. one: a single fire,
-- the last, in place of all that are due then. skip: none of the missed fires. all: the oldest missed_limit
-- of them.
create or replace function tock.plan_firing(
  p_schedule tock.schedules, p_fire_at timestamptz, p_now timestamptz)
returns tock.firing_plan language plpgsql stable as $$
declare
  v_late timestamptz := p_now - interval '1 second'
    * (p_schedule.missed_after_seconds + p_schedule.jitter_seconds);
  v_fire timestamptz := p_fire_at;
  v_firing tock.firing_plan;
  v_most integer;
begin
  v_firing.fires := '{}';
  if v_fire < v_late then
    if p_schedule.missed = 'all' then
      while v_fire < v_late and pg_catalog.cardinality(v_firing.fires) < p_schedule.missed_limit loop
        v_firing.fires := v_firing.fires || v_fire;
        v_fire := tock.next_fire(p_schedule, v_fire);
      end loop;
    elsif p_schedule.missed = 'one' then
      v_firing.fires := array[tock.last_fire(p_schedule, v_fire,
        p_now - interval '1 second' * p_schedule.jitter_seconds)];
      if v_fire < v_firing.fires[1] then
        v_firing.missed_from := v_fire;
        v_firing.missed_until := v_firing.fires[1];
      end if;
      v_fire := tock.next_fire(p_schedule, v_firing.fires[1]);
    end if;
    if v_fire < v_late then
      v_firing.missed_from := v_fire;
      v_fire := tock.next_fire(p_schedule, v_late - interval '1 microsecond');
      v_firing.missed_until := coalesce(v_fire, v_late);
    end if;
  end if;
  -- one call accepts up to 100 tasks of one unique key
  v_most := 100 + case when p_schedule.options ->> 'unique_key' is null
    then pg_catalog.cardinality(v_firing.fires) else 0 end;
  while tock.due_of(p_schedule, v_fire) <= p_now and pg_catalog.cardinality(v_firing.fires) < v_most loop
    v_firing.fires := v_firing.fires || v_fire;
    v_fire := tock.next_fire(p_schedule, v_fire);
  end loop;
  v_firing.next_fire_at := v_fire;
  -- fires left over are due now, and not below the point from which firing reads
  v_firing.next_due_at := case when v_fire is null then 'infinity'
    else greatest(tock.due_of(p_schedule, v_fire), p_now) end;
  return v_firing;
end $$;

create or replace function tock.next_fires(
  p_schedule text default null, p_cron text default null, p_time_zone text default null,
  p_count integer default 5, p_after timestamptz default null)
returns table (fire_at timestamptz, local_time text) language plpgsql stable security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_schedule tock.schedules;
begin
  perform tock.check_range(p_count, 1, 1000, 'count');
  if not coalesce(p_after, '1970-01-01 00:00+00') between '1970-01-01 00:00+00' and '9999-12-31 00:00+00'
  then
    perform tock.refuse(422, 'after must be an instant from 1970 to 9999', 'after');
  elsif (p_schedule is null) = (p_cron is null) then
    perform tock.refuse(422, 'give a schedule or a cron expression', 'cron');
  elsif p_schedule is not null then
    select s.* into v_schedule from tock.schedules s where s.name = p_schedule;
    if not found then
      return;
    end if;
  else
    v_schedule.plan := tock.parse_cron(p_cron);
    v_schedule.time_zone := 'UTC';
  end if;
  v_schedule.time_zone := coalesce(p_time_zone, v_schedule.time_zone);
  perform tock.check_time_zone(v_schedule.time_zone);
  fire_at := coalesce(p_after, pg_catalog.clock_timestamp());
  for v_n in 1 .. p_count loop
    fire_at := tock.next_fire(v_schedule, fire_at);
    exit when fire_at is null or fire_at > '9999-12-31 00:00+00';
    local_time := pg_catalog.to_char(fire_at at time zone v_schedule.time_zone, 'YYYY-MM-DD HH24:MI:SS');
    return next;
  end loop;
end $$;

comment on function tock.next_fires is
  'The next fires after an instant (default: now), of a schedule or of any cron expression in a time zone '
  '(default: UTC), with the local time there; no rows if there are none or no such schedule. For a paused '
  'schedule, the fires that it would have.';
