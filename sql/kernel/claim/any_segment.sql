-- Where no hot function is right (an epoch's edge, a restart), every stream goes the slow way.
create or replace function tock.candidates_anywhere(
  p_queue text, p_seed integer, p_seen integer[], p_limit integer)
returns tock.candidate[]
language plpgsql
volatile
as $$
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

comment on function tock.candidates_anywhere is 'Streams to draw from, whichever epoch they are in.';

create or replace function tock.unread_stream(p_queue text)
returns integer
language plpgsql
volatile
as $$
declare
  v_look tock.look := tock.find_streams(p_queue, 0, '{}', 1, false);
begin
  if v_look.epoch is null then
    v_look.streams := tock.candidates_anywhere(p_queue, 0, '{}', 1);
  end if;
  return (v_look.streams[1]).stream;
end $$;

comment on function tock.unread_stream is
  'A stream of a queue with runs that were not claimed, cancelled ones among them; null when there is none.';

-- With the stream's lock held. Where its next run lies in a later epoch than its cursor, a skip lease
-- goes over the gap, up to just before that run. A claim that is alone moves start_after up as well: a
-- row lock kept until the end of somebody's transaction would hold up writers with old snapshots.
create or replace function tock.place_of(p_stream integer, p_alone boolean)
returns tock.place
language plpgsql
volatile
as $$
declare
  v_at tock.place;
  v_first bigint;
begin
  v_at.after_position := tock.cursor_of(p_stream);
  v_first := tock.first_unread(p_stream, v_at.after_position);
  if v_first is null then
    return null;
  end if;
  v_at.epoch := tock.epoch_of(v_first);
  if tock.epoch_of(v_at.after_position + 1) is distinct from v_at.epoch then
    perform tock.skip_to(p_stream, v_at.after_position, v_first - 1, 0);
    v_at.after_position := v_first - 1;
  end if;
  if p_alone then
    update tock.streams s set start_after = v_at.after_position
    where s.number = any (array(
      select t.number from tock.streams t
      where t.number = p_stream and t.awake and t.start_after < (
        select e.first_position - 1 from tock.epochs e where e.number = v_at.epoch)
      for update skip locked));
  end if;
  return v_at;
end $$;

comment on function tock.place_of is
  'The epoch of a stream''s next run, and the cursor to claim it from; null when nothing is unread.';

create or replace function tock.next_place(p_stream integer, p_current integer, p_alone boolean)
returns tock.place
language plpgsql
volatile
as $$
declare
  v_place tock.place := case when p_current is not null then tock.current_place(p_stream) end;
begin
  return case when v_place.epoch is null then tock.place_of(p_stream, p_alone) else v_place end;
end $$;

comment on function tock.next_place is
  'Where a stream''s next claim starts; null when nothing is unread. p_current is the segment in use, '
  'where that is known.';

create or replace function tock.pass_overridden(p_range tock.claim_range, p_most integer)
returns tock.passed
language plpgsql
volatile
as $$
declare
  v_passed tock.passed := tock.pass_overridden_current(p_range, p_most);
begin
  if v_passed.upto is null then
    execute pg_catalog.format('select * from tock.pass_overridden_%s($1, $2)', p_range.epoch)
      into v_passed using p_range, p_most;
  end if;
  return v_passed;
end $$;

comment on function tock.pass_overridden is 'pass_overridden_N() of the range''s segment.';

create or replace function tock.lease_overridden_range(p_range tock.claim_range, p_passed tock.passed)
returns setof tock.claimed
language plpgsql
volatile
as $$
declare
  v_timeout timestamptz := pg_catalog.clock_timestamp() + p_passed.timeout_seconds * interval '1 second';
begin
  p_range.leased_until := least(p_range.leased_until, v_timeout);
  return query select * from tock.lease_overridden_range_current(p_range, p_passed);
  if not found then
    return query execute pg_catalog.format(
      'select * from tock.lease_overridden_range_%s($1, $2)', p_range.epoch) using p_range, p_passed;
  end if;
end $$;

comment on function tock.lease_overridden_range is
  'lease_overridden_range_N() of the range''s segment, with the end of the lease no later than the runs'' '
  'time limit.';
