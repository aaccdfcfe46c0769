-- The call is allowed only while the archive is on, because the segment is dropped before its retention. Only
-- one segment at a time is ended so, because each call uses up a range of positions. The sequence jumps as in
-- create_segments(): under the same lock, and far enough that no call can overtake it. It jumps one position
-- further. A segment is over when a position of the next one is taken, and in a quiet database no other
-- session may take one.
create or replace function tock.end_segment()
returns table (segment integer, closed_at timestamptz, why text) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_segment tock.segments;
begin
  if not tock.is_archiving() then
    perform tock.refuse(409, 'the archive is off, so the history of this segment would be lost', null,
      'run tock archive on first: a segment that is ended on demand is dropped before its retention');
  elsif not tock.wait_for_lock(tock.named_key('maintenance_job', 'create_segments')) then
    perform tock.refuse(503, 'another transaction is making or ending segments', null,
      'try again in a moment');
  end if;
  select e.* into v_segment from tock.segments e where e.early;
  if not found then
    update tock.segments e set early = true
    where e.number = tock.newest_segment() and exists (select from tock.segments n where n.number > e.number)
    returning e.* into v_segment;
    if not found then
      perform tock.refuse(503, 'there is no next segment yet', null,
        'select tock.run_maintenance(''create_segments''), then try again');
    end if;
    perform pg_catalog.setval('tock.positions', v_segment.end_position) from tock.positions s
    where s.last_value between v_segment.first_position + 1 and v_segment.end_position - 1048576;
    if not found then
      perform tock.refuse(409,
        pg_catalog.format('segment %s has just begun, or will end by itself soon', v_segment.number), null,
        'enqueue something first; tock segments shows how full it is');
    end if;
    perform tock.write_audit_log('end_segment', v_segment.number::text);
  end if;
  return query select v_segment.number, v_segment.closed_at,
    case when v_segment.closed_at is null then (select w.why from tock.why_not_closed(v_segment) w) end;
end $$;

comment on function tock.end_segment is
  'Ends the current segment, so that it is archived and dropped as soon as nothing in it is unclaimed or '
  'running. While a segment that was ended this way still exists, returns that one. TK409 while the archive '
  'is off.';
