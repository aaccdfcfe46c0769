-- Skips the runs above the cursor of a stream in the segment as purged; returns how many, and how many of
-- them had not been cancelled or replaced. A closed lease covers all visible runs above the cursor. They
-- count as cancelled, except those that continue as another run, which is purged in its own place. The count
-- and the range come from one snapshot, since the verification of the segment compares them.
create or replace function tock.purge_range_{segment}(
  p_stream integer, p_after bigint, p_limit bigint, p_token uuid, out passed bigint, out purged bigint)
language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
begin
  with purged as (
    insert into tock.leases_{segment} (
      stream, after_position, last_position, runs, skipped, token, leased_until, closed_at, outcome)
    select p_stream, p_after, p.last_position, 0, p.runs, p_token, pg_catalog.now(),
      pg_catalog.now(), 'purged'
    from (
      select max(r.position) as last_position, count(*) as runs from (
        select n.position from tock.runs_{segment} n where n.stream = p_stream and n.position > p_after
          and (select s.start_after from tock.streams s where s.number = p_stream) <= p_after
          and coalesce((
            select l.last_position from tock.leases_{segment} l where l.stream = p_stream
            order by l.stream desc, l.after_position desc limit 1), 0) <= p_after
        order by n.stream, n.position limit p_limit) r) p
    where p.runs > 0
    on conflict do nothing
    returning after_position, last_position, skipped)
  select p.skipped, p.skipped - (
    select count(distinct m.position) from tock.run_overrides_{segment} m
    where m.stream = p_stream and m.position > p.after_position and m.position <= p.last_position
      and m.kind in ('cancelled', 'superseded'))
    into passed, purged
  from purged p;
end $$;
