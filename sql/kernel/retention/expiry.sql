create or replace function tock.is_archiving()
returns boolean
language plpgsql
stable
as $$
begin
  return coalesce((select a.enabled from tock.archive a), false);
end $$;

comment on function tock.is_archiving is 'Whether history is kept until it lies in the archive.';

-- The queues' retention as it is now, as for the drop.
-- What was ended on demand has none while the archive is on.
create or replace function tock.is_past_retention(p_segment tock.segments)
returns boolean
language sql
stable
as $$
  select p_segment.closed_at is not null and p_segment.verified_at is not null
    and (p_segment.early and tock.is_archiving() and not exists (
        select from tock.dependency_waits x
        join tock.waiting w on w.position = x.child
        cross join lateral pg_catalog.jsonb_array_elements_text(w.options -> 'depends_on') a (id)
        where a.id::bigint >> 20 < p_segment.end_position)
      or p_segment.closed_at < pg_catalog.now() - interval '1 second' * coalesce((
      select max((tock.policy(q)).retention_seconds) from unnest(p_segment.queues) q), 0))
$$;

comment on function tock.is_past_retention is
  'Whether a segment is audited and the longest retention in it has passed, or it was ended on demand for '
  'the '
  'archive and no task waits for parents of which one, or a run of one, may lie in it.';

-- While it is enabled; what was begun earlier than it was turned off is dropped as it is.
create or replace function tock.may_be_dropped(p_segment integer)
returns boolean
language plpgsql
volatile
as $$
begin
  -- one snapshot: the archive may have been turned off since a segment that was ended on demand was chosen
  return exists (select from tock.archives a where a.segment = p_segment and a.state = 'verified')
    or exists (select from tock.segments e where e.number = p_segment and not tock.is_archiving()
      and (not e.early or tock.is_past_retention(e)));
end $$;

comment on function tock.may_be_dropped is
  'Whether the archive has nothing against a segment''s drop: it is off, or has all of it, verified.';

-- While the archive is on, history is there until it lies in it, and then there: nothing hides in between.
create or replace function tock.visible_since(p_queue text)
returns timestamptz
language plpgsql
stable
as $$
begin
  return case when tock.is_archiving() then '-infinity'
    else pg_catalog.now() - (tock.policy(p_queue)).retention_seconds * interval '1 second' end;
end $$;

comment on function tock.visible_since is 'Tasks of a queue that ended before this are not shown any more.';
