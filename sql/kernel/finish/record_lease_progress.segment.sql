-- Stores the progress of all unfinished runs of a lease. Progress for a whole lease does not apply to runs
-- that have ended. So the first statement stores the last progress of such runs for good, also if they have
-- none. ended_at cannot tell whether a run had ended before the report: it is the start time of a
-- transaction.
create or replace function tock.record_lease_progress_{segment}(p_lease uuid, p_progress jsonb)
returns void language sql volatile as $$
  insert into tock.progress (position, stream, of_all, progress, note, reported_at)
  select e.position, l.stream, false, w.progress, w.note, 'infinity'
  from tock.leases_{segment} l
  cross join lateral (
    select e.position from tock.results_{segment} e
    where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position offset 0) e
  left join lateral (
    select g.reported_at, g.progress, g.note from tock.progress g
    where g.position = any (array[e.position, l.after_position + 1]) and g.stream = l.stream
      and (g.of_all or g.position = e.position)
    order by g.reported_at desc limit 1) w on true
  where not tock.is_of_one(p_lease) and l.closed_at is null and l.token = p_lease and l.alone is null
    and w.reported_at is distinct from 'infinity'
  order by e.position, l.stream
  on conflict (position, stream, of_all) do update
    set progress = excluded.progress, note = excluded.note, reported_at = excluded.reported_at;

  insert into tock.progress (position, stream, of_all, progress, note)
  select l.after_position + 1, l.stream, true, pg_catalog.round((p_progress ->> 'progress')::numeric, 2),
    p_progress ->> 'note'
  from tock.lease_rows_{segment}(p_lease) l where l.closed_at is null
  order by l.after_position, l.stream
  on conflict (position, stream, of_all) do update
    set progress = excluded.progress, note = excluded.note, reported_at = excluded.reported_at;
$$;
