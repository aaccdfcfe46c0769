-- Streams of a queue with unclaimed runs, in any segment. What a claim does in any segment. It lists streams
-- while there is no current segment, and it calls the function of the segment that a range is in:
-- NAME_current or NAME_<number>.
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

-- A stream of a queue with unclaimed runs, cancelled ones included; null if there is none.
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

-- pass_overridden_N() for the segment of the range.
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
