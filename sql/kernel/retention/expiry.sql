-- True if history is kept until it is in the archive.
create or replace function tock.is_archiving()
returns boolean language plpgsql stable as $$
begin
  return coalesce((select a.enabled from tock.archive a), false);
end $$;

-- True if a segment is verified and its longest retention has passed. A segment that was ended early for the
-- archive is past it as soon as no waiting task has a parent, or a run of a parent, in it. The retention that
-- the queues have now decides, not the one of the time when the segment was closed. While the archive is on,
-- a segment that was ended early for it has no retention.
create or replace function tock.is_past_retention(p_segment tock.segments)
returns boolean language sql stable as $$
  select p_segment.closed_at is not null and p_segment.verified_at is not null
    and (p_segment.early and tock.is_archiving() and not exists (
        select from tock.dependency_waits x
        join tock.waiting w on w.position = any (array[x.child])
        cross join lateral pg_catalog.jsonb_array_elements_text(w.options -> 'depends_on') a (id)
        where a.id::bigint >> 20 < p_segment.end_position)
      or p_segment.closed_at < pg_catalog.now() - interval '1 second' * coalesce((
      select max((tock.policy(q)).retention_seconds) from unnest(p_segment.queues) q), 0))
$$;

-- True if the archive allows the drop of a segment: it is off, or has the whole segment verified. The archive
-- keeps a segment only while it is on. If it is turned off, a partly archived segment is dropped as well.
create or replace function tock.may_be_dropped(p_segment integer)
returns boolean language plpgsql volatile as $$
begin
  -- is_past_retention() is called again: the archive may have been turned off since the caller chose this
  -- segment
  return exists (select from tock.archives a where a.segment = p_segment and a.state = 'verified')
    or exists (select from tock.segments e where e.number = p_segment and not tock.is_archiving()
      and (not e.early or tock.is_past_retention(e)));
end $$;

-- Tasks of a queue that ended before this time are no longer shown. While the archive is on, history is
-- visible in the database until it is visible in the archive, without a gap.
create or replace function tock.visible_since(p_queue text)
returns timestamptz language plpgsql stable as $$
begin
  return case when tock.is_archiving() then '-infinity'
    else pg_catalog.now() - (tock.policy(p_queue)).retention_seconds * interval '1 second' end;
end $$;
