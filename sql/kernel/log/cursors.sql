-- A stream's cursor is the end of its newest lease, or start_after when that is higher. A lease lies in
-- the leaf of the position after the one it starts from, and starts where the one before it ended: so
-- the way up from start_after goes leaf by leaf, mostly one.
create or replace function tock.cursor_of(p_stream integer)
returns bigint
language plpgsql
volatile
as $$
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

comment on function tock.cursor_of is 'Where a stream''s next claim starts.';

-- In its own leaf first. Further up it has to be one statement, so that one snapshot decides (finding
-- C2): what is visible of a stream is a prefix, so in a later statement nothing can appear before it.
create or replace function tock.first_unread(p_stream integer, p_after bigint)
returns bigint
language plpgsql
volatile
set plan_cache_mode = force_custom_plan
as $$
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

comment on function tock.first_unread is
  'The position of a stream''s first run above its cursor, in whichever segment; null when there is none.';

-- start_after may always be moved up to the cursor, and over a gap to just before the first unread
-- run: a claim over the same gap ends its skip lease there, so the fence stays the same number. A
-- writer with an old snapshot holds its stream's row to its end: that one is left for later.
create or replace function tock.advance_start(p_limit integer default 1000)
returns integer
language plpgsql
volatile
as $$
declare
  v_hot tock.segments;
  v_stream record;
  v_after bigint;
  v_first bigint;
  v_moved integer;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    return 0;
  end if;
  select e.* into v_hot from tock.segments e where e.number = tock.newest_segment();
  if not found then
    return 0;  -- positions have gone past the last one
  end if;
  -- those that were claimed from in the segment in use
  execute pg_catalog.format($q$
    update tock.streams s set start_after = n.after_position
    from (
      select t.number, (
        select l.after_position from tock.leases_%s l where l.stream = t.number
        order by l.stream desc, l.after_position desc limit 1) as after_position
      from tock.streams t where t.awake and t.start_after < $1 - 1
      for update skip locked) n
    where s.number = n.number and n.after_position is not null$q$, v_hot.number) using v_hot.first_position;
  get diagnostics v_moved = row_count;
  -- those that stand before a gap, or have gone on elsewhere: a few at a time, in any order
  for v_stream in
    select s.number, s.start_after from tock.streams s
    where s.awake and s.start_after < v_hot.first_position - 1
    order by pg_catalog.random() limit p_limit
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
    v_moved := v_moved + case when found then 1 else 0 end;
  end loop;
  return v_moved;
end $$;

comment on function tock.advance_start is
  'Moves streams'' start_after up to the segment they have come to; returns how many.';

create or replace function tock.skip_range(p_stream integer, p_after bigint, p_last bigint, p_skipped integer)
returns void
language plpgsql
volatile
as $$
begin
  insert into tock.leases (stream, after_position, last_position, runs, skipped, token, leased_until,
    closed_at, outcome)
    values (p_stream, p_after, p_last, 0, p_skipped, tock.new_token(0, p_after), pg_catalog.now(),
      pg_catalog.now(), 'skipped');
end $$;

comment on function tock.skip_range is
  'Moves a stream''s cursor without handing anything out: a closed lease that holds no runs but p_skipped '
  'that were passed over.';
