-- The position after which the next claim of a stream starts. The cursor of a stream is the end of its newest
-- lease, or start_after if that is higher. A lease starts where the previous one ended, and lies in the
-- partition of the position after its start. So the loop starts in the partition of start_after and goes
-- upwards. Usually it reads only one partition.
create or replace function tock.cursor_of(p_stream integer)
returns bigint language plpgsql volatile as $$
declare
  v_after bigint := (select s.start_after from tock.streams s where s.number = p_stream);
  v_segment integer := tock.segment_of(v_after + 1);
  v_last bigint;
begin
  loop
    exit when v_segment is null;
    execute pg_catalog.format('select l.last_position from tock.leases_%s l where l.stream = $1
      order by l.stream desc, l.after_position desc limit 1', v_segment) into v_last using p_stream;
    exit when coalesce(v_last <= v_after, true);
    v_after := v_last;
    exit when tock.segment_of(v_after + 1) = v_segment;
    v_segment := tock.segment_of(v_after + 1);
  end loop;
  return v_after;
end $$;

-- The position of the first run of a stream above its cursor, in any segment; null if there is none. The
-- partition of the cursor is read first; it usually has the run. Otherwise one statement reads all partitions
-- above the cursor. Its snapshot shows a prefix of the stream. With one statement for each partition, a run
-- could be committed into a lower partition after that was read, and a later run would be returned.
create or replace function tock.first_unread(p_stream integer, p_after bigint)
returns bigint language plpgsql volatile
set plan_cache_mode = force_custom_plan as $$
declare
  v_segment integer := tock.segment_of(p_after + 1);
  v_first bigint;
begin
  if v_segment is not null then
    execute pg_catalog.format('select r.position from tock.runs_%s r where r.stream = $1 and r.position > $2
      order by r.stream, r.position limit 1', v_segment) into v_first using p_stream, p_after;
  end if;
  if v_first is null and tock.newest_segment() > coalesce(v_segment, 0) then
    execute pg_catalog.format('select r.position from tock.runs r where r.stream = $1 and r.position > %s
      order by r.stream, r.position limit 1', p_after) into v_first using p_stream;
  end if;
  return v_first;
end $$;

-- Moves start_after of streams up to the segment of their next run. start_after may move up to the cursor.
-- Across a gap between segments it may move to just before the first unclaimed run. A claim ends its skip
-- lease for that gap at the same position. So both lead to the same after_position, and the primary key of
-- leases still keeps two claims apart. A writer with an old snapshot locks the row of its stream until it
-- ends; advance_start() leaves that row for a later call.
create or replace function tock.advance_start()
returns void language plpgsql volatile as $$
declare
  v_newest tock.segments;
  v_stream record;
  v_after bigint;
  v_first bigint;
begin
  select e.* into v_newest from tock.segments e where e.number = tock.newest_segment();
  if not found or not tock.sees_all() then
    return;  -- there is no segment, or the snapshot is old
  end if;
  -- streams with a lease in the current segment
  execute pg_catalog.format($q$
    update tock.streams s set start_after = n.after_position
    from (
      select t.number, (
        select l.after_position from tock.leases_%s l where l.stream = t.number
        order by l.stream desc, l.after_position desc limit 1) as after_position
      from tock.streams t where t.awake and t.start_after < $1 - 1
      for update skip locked) n
    where s.number = n.number and n.after_position is not null$q$, v_newest.number)
    using v_newest.first_position;
  -- The other streams have no lease in the current segment. Their next run needs a search, so a call takes
  -- only 1,000 of them, in random order.
  for v_stream in
    select s.number, s.start_after from tock.streams s
    where s.awake and s.start_after < v_newest.first_position - 1
    order by pg_catalog.random() limit 1000
  loop
    v_after := tock.cursor_of(v_stream.number);
    v_first := tock.first_unread(v_stream.number, v_after);
    continue when v_first is null or tock.segment_of(v_first) = tock.segment_of(v_stream.start_after + 1);
    continue when not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_stream.number);
    v_after := tock.cursor_of(v_stream.number);
    v_first := tock.first_unread(v_stream.number, v_after);
    continue when v_first is null;
    update tock.streams s
    set start_after = case when tock.segment_of(v_first) = tock.segment_of(v_after + 1) then v_after
      else v_first - 1 end
    where s.number = any (array(
      select t.number from tock.streams t
      where t.number = v_stream.number and t.awake and t.start_after <= v_after for update skip locked));
  end loop;
end $$;

-- Moves the cursor of a stream without leasing a run: inserts a closed lease that covers p_skipped skipped
-- runs and no others.
create or replace function tock.skip_range(p_stream integer, p_after bigint, p_last bigint, p_skipped integer)
returns void language plpgsql volatile as $$
begin
  insert into tock.leases (stream, after_position, last_position, runs, skipped, token, leased_until,
    closed_at, outcome)
    values (p_stream, p_after, p_last, 0, p_skipped, tock.new_token(0, p_after), pg_catalog.now(),
      pg_catalog.now(), 'skipped');
end $$;
