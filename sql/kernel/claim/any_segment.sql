-- If no _current function applies (at the edge of a segment, after a restart), every stream takes this slow
-- path.
create or replace function tock.streams_in_any_segment(
  p_queue text, p_seed integer, p_seen integer[], p_limit integer)
returns tock.candidate[] language plpgsql volatile as $$
begin
  return array(
    select row(s.number, s.priority, null)::tock.candidate
    from (
      select t.number, t.priority from tock.streams t
      where t.queue = p_queue and t.awake and t.number <> all (p_seen)
      order by t.priority, (t.lane & 512 <> 0) = (p_seed % 24 <> 0),
        pg_catalog.hashint4extended(t.lane, p_seed), pg_catalog.hashint4extended(t.slot, p_seed)
      offset 0) s
    where tock.first_unread(s.number, tock.cursor_of(s.number)) is not null
    limit p_limit);
end $$;

comment on function tock.streams_in_any_segment is
  'Streams of a queue with unclaimed runs, in any segment.';

create or replace function tock.unread_stream(p_queue text)
returns integer language plpgsql volatile as $$
declare
  v_scan tock.stream_scan := tock.find_streams(p_queue, 0, '{}', 1, false);
begin
  if v_scan.segment is null then
    v_scan.streams := tock.streams_in_any_segment(p_queue, 0, '{}', 1);
  end if;
  return (v_scan.streams[1]).stream;
end $$;

comment on function tock.unread_stream is
  'A stream of a queue with unclaimed runs, cancelled ones included; null if there is none.';

-- The caller holds the stream lock. If the next run lies in a later segment than the cursor, a skip lease
-- covers the gap up to just before that run. A claim that is its whole transaction also moves start_after up.
-- Other claims do not: they would keep the row lock until their transaction ends, and block writers with old
-- snapshots.
create or replace function tock.resolve_cursor(p_stream integer, p_own_transaction boolean)
returns tock.stream_cursor language plpgsql volatile as $$
declare
  v_at tock.stream_cursor;
  v_first bigint;
begin
  v_at.after_position := tock.cursor_of(p_stream);
  v_first := tock.first_unread(p_stream, v_at.after_position);
  if v_first is null then
    return null;
  end if;
  v_at.segment := tock.segment_of(v_first);
  if tock.segment_of(v_at.after_position + 1) is distinct from v_at.segment then
    perform tock.skip_range(p_stream, v_at.after_position, v_first - 1, 0);
    v_at.after_position := v_first - 1;
  end if;
  if p_own_transaction then
    update tock.streams s set start_after = v_at.after_position
    where s.number = any (array(
      select t.number from tock.streams t
      where t.number = p_stream and t.awake and t.start_after < (
        select e.first_position - 1 from tock.segments e where e.number = v_at.segment)
      for update skip locked));
  end if;
  return v_at;
end $$;

comment on function tock.resolve_cursor is
  'The segment of the next run of a stream and the cursor to claim it from; null if none is left.';

create or replace function tock.next_cursor(p_stream integer, p_current integer, p_own_transaction boolean)
returns tock.stream_cursor language plpgsql volatile as $$
declare
  v_cursor tock.stream_cursor := case when p_current is not null then tock.current_cursor(p_stream) end;
begin
  return case when v_cursor.segment is null then tock.resolve_cursor(p_stream, p_own_transaction)
    else v_cursor end;
end $$;

comment on function tock.next_cursor is
  'The position after which the next claim of a stream starts; null if no run is left. p_current is the '
  'current segment, or null.';

create or replace function tock.pass_overridden(p_range tock.claim_range, p_most integer)
returns tock.passed language plpgsql volatile as $$
declare
  v_passed tock.passed := tock.pass_overridden_current(p_range, p_most);
begin
  if v_passed.upto is null then
    execute pg_catalog.format('select * from tock.pass_overridden_%s($1, $2)', p_range.segment)
      into v_passed using p_range, p_most;
  end if;
  return v_passed;
end $$;

comment on function tock.pass_overridden is 'pass_overridden_N() for the segment of the range.';

create or replace function tock.lease_overridden_range(p_range tock.claim_range, p_passed tock.passed)
returns setof tock.claimed language plpgsql volatile as $$
declare
  v_timeout timestamptz := pg_catalog.clock_timestamp() + p_passed.timeout_seconds * interval '1 second';
begin
  p_range.leased_until := least(p_range.leased_until, v_timeout);
  return query select * from tock.lease_overridden_range_current(p_range, p_passed);
  if not found then
    return query execute pg_catalog.format(
      'select * from tock.lease_overridden_range_%s($1, $2)', p_range.segment) using p_range, p_passed;
  end if;
end $$;

comment on function tock.lease_overridden_range is
  'lease_overridden_range_N() for the segment of the range; the lease ends no later than the time limit of '
  'its runs.';
