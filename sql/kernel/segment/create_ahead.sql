-- If the last segment was made within the last hour, the next one is twice as wide. History is dropped by
-- whole segments, so an old current segment is ended: the sequence jumps to its end. Old means an eighth of
-- the longest retention, and at least a day. The jump only goes forwards, over at least a million positions,
-- so no concurrent call can overtake it. In the last segment of the range of ids there is no jump. A segment
-- that is made after such a jump is half as wide as the one before, down to 2^24: a range has room for eight
-- jumps over the widest ones.
create or replace function tock.create_segments(p_ahead integer default 2, p_width bigint default null)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '500ms' as $$
declare
  v_newest tock.segments;
  v_current tock.segments;
  v_reached bigint;
  v_end bigint := tock.end_of_range();
  v_width bigint;
  v_age interval := greatest(interval '1 day',
    (select max(q.retention_seconds) from tock.queues q) / 8 * interval '1 second');
  v_made integer := 0;
begin
  if p_ahead not between 0 and 1000 then
    perform tock.refuse(422, 'p_ahead must be a whole number from 0 to 1000', 'p_ahead');
  elsif p_width < 1 then
    perform tock.refuse(422, 'p_width must be a positive number', 'p_width');
  end if;
  if tock.current_segment() is null then
    -- below, compile_current() ends the state in which each writer calls this function
    perform tock.guard_before_use();
  end if;
  if not tock.wait_for_lock(tock.named_key('maintenance_job', 'create_segments')) then
    return 0;
  end if;
  loop
    select e.* into v_newest from tock.segments e order by e.number desc limit 1;
    v_reached := (select s.last_value from tock.positions s);
    select e.* into v_current from tock.segments e where e.number = tock.newest_segment();
    -- a segment is five tables with indexes, each with a lock: thousands of them would fill the lock table of
    -- the cluster
    exit when v_newest.end_position >= v_end or (v_reached < v_newest.end_position and (v_made = 100
      or (select count(*) from tock.segments e where e.number > v_current.number) >= coalesce(p_ahead, 2)));
    v_width := v_newest.end_position - v_newest.first_position;
    v_width := coalesce(p_width, case
      when v_newest.number > 3 and v_newest.made_at > pg_catalog.now() - interval '1 hour' then v_width * 2
      when v_newest.made_at < pg_catalog.now() - v_age and v_width > 16777216
        then greatest(v_width / 2, 16777216)
      else v_width end);
    perform tock.create_segment(v_newest.end_position,
      v_newest.end_position + least(v_width, 1073741824));
    v_made := v_made + 1;
  end loop;
  update tock.segments e set started_at = pg_catalog.now()
  where e.number = v_current.number and e.started_at is null;
  if v_current.started_at < pg_catalog.now() - v_age and v_current.end_position < v_end then
    -- the sequence may have moved since: the statement that jumps checks it again
    perform pg_catalog.setval('tock.positions', v_current.end_position - 1) from tock.positions s
    where s.last_value between v_current.first_position + 1 and v_current.end_position - 1048576;
  end if;
  if tock.current_segment() is null then
    perform tock.compile_current();
    -- make deactivate_streams() due: until it has run, each claim scans the streams without new runs
    update tock.maintenance_jobs d set last_started_at = null
    where d.name = (select r.name from tock.maintenance_jobs r where r.name = 'deactivate_streams'
      for update skip locked);
  end if;
  perform tock.advance_start();
  perform tock.close_segments();
  return v_made;
exception
  when lock_not_available then
    perform tock.refuse(503, 'another session holds a lock that the creation of segments needs', null,
      'try again; pg_locks shows the sessions that lock tock.runs, leases, results, run_overrides or steps');
end $$;

comment on function tock.create_segments is
  'Makes segments until p_ahead exist after the current one (p_width positions each), up to 100 a call. '
  'Ends the current segment when it is old, and closes those that are over. Returns the number made, 0 '
  'while another transaction does this.';
