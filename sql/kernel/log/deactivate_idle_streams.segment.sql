-- Puts the streams of a slot to rest that have no run above their cursor in the current segment; returns the
-- number.
create or replace function tock.deactivate_idle_streams_{segment}(p_slot integer, p_limit integer)
returns integer language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
declare
  v_rested integer;
begin
  update tock.streams s set awake = false, start_after = greatest(s.start_after, coalesce((
      select l.last_position from tock.leases_{segment} l where l.stream = s.number
      order by l.stream desc, l.after_position desc limit 1), 0))
  where s.number = any (array(
    select t.number from tock.streams t
    where t.awake and t.slot = p_slot and t.start_after >= {first_position}::bigint - 1 and (
      select r.position from tock.runs_{segment} r
      where r.stream = t.number and r.position > greatest(t.start_after, coalesce((
        select l.last_position from tock.leases_{segment} l where l.stream = t.number
        order by l.stream desc, l.after_position desc limit 1), 0))
      order by r.stream, r.position limit 1) is null
    limit p_limit));
  get diagnostics v_rested = row_count;
  return v_rested;
end $$;
