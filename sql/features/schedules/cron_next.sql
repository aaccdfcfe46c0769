-- The first instant after p_after at which a cron expression fires in a time zone; null if there is none. An
-- expression without * or a step in second, minute and hour names fixed times. A time that the clocks skip
-- fires right after the jump, if that is on the same day. A time that they show twice fires the first time.
-- Any other expression fires whenever the clocks show a time that it names. Within two days clocks change at
-- most once, and over the years by up to 25 hours (Apia in 2011). So only the two days after the start and
-- the two before the named time are searched.
create or replace function tock.cron_after(p_plan tock.cron_plan, p_zone text, p_after timestamptz)
returns timestamptz language plpgsql stable as $$
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
  -- a hundred steps have found only times that the clocks skip, like half past two on the last Sunday of
  -- March
  return null;
end $$;

-- True if clocks that jump ahead skip a time that a cron expression names, on the day on which they land.
create or replace function tock.cron_skipped(
  p_plan tock.cron_plan, p_change bigint, p_before integer, p_after integer)
returns boolean language sql stable as $$
  select coalesce(tock.cron_wall(p_plan, greatest(p_change + p_before, (p_change + p_after) / 86400 * 86400))
    < p_change + p_after, false)
$$;
