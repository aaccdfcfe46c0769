-- Makes the segment after the newest: one partition each of runs, leases, results, run_overrides and
-- steps.
-- Partitions are created as plain tables and then attached: that takes about 1 ms and waits for no reader.
-- The key of a lease is the position before its first run, and the lease belongs to the segment of that run.
-- So the partitions of leases start and end one position lower.
--
-- A segment lies in one range of ids, 2^33 positions, and its number names the range, so the token of a lease
-- names it too. The last segment of a range takes up what is left of it if that is less than half its width.
create or replace function tock.create_segment(p_first bigint, p_end bigint)
returns void language plpgsql volatile as $$
declare
  v_number integer := (select greatest(max(e.number) + 1, p_first >> 33 << 18) from tock.segments e);
  v_border bigint := (p_first >> 33) + 1 << 33;
  v_leaf record;
begin
  if pg_catalog.to_regclass('tock.runs_' || v_number) is not null then
    raise exception using errcode = '40001',
      message = 'a segment was made that the snapshot of this transaction does not show';
  end if;
  if v_border - p_end < (p_end - p_first) / 2 then
    p_end := v_border;
  end if;
  for v_leaf in
    select t.name, p_first - t.less as first, p_end - t.less as last, t.fillfactor
    from (values ('runs', 0, 100), ('results', 0, 100), ('run_overrides', 0, 100), ('steps', 0, 100),
      ('leases', 1, 70)) t (name, less, fillfactor)
  loop
    execute pg_catalog.format(
      'create table tock.%1$s_%2$s (like tock.%1$s including all) with (fillfactor = %3$s)',
      v_leaf.name, v_number, v_leaf.fillfactor);
    execute pg_catalog.format(
      'alter table tock.%1$s attach partition tock.%1$s_%2$s for values from (%3$s) to (%4$s)',
      v_leaf.name, v_number, v_leaf.first, v_leaf.last);
    -- do not depend on default privileges, which an operator may have changed
    execute pg_catalog.format(
      'revoke all on tock.%s_%s from public, tock_producer, tock_worker, tock_admin, tock_edge',
      v_leaf.name, v_number);
  end loop;
  insert into tock.segments (number, first_position, end_position) values (v_number, p_first, p_end);
  perform tock.compile_segment(v_number);
end $$;

-- Makes segments until one covers a position; TK503 while another transaction makes one, or at the end of the
-- range of ids. One transaction at a time makes segments: it takes the lock of the maintenance job
-- create_segments and then reads the newest segment in a new snapshot. It waits up to 50 ms for that lock,
-- since making a segment takes a few milliseconds, and up to 2 s for any other lock.
create or replace function tock.create_segments_to(p_position bigint)
returns void language plpgsql volatile
set lock_timeout = '2s' as $$
declare
  v_newest tock.segments;
begin
  if p_position >= tock.end_of_range() then
    perform tock.refuse(503, 'this database has used up its range of ids', null,
      'give it a further one: tock nodes found RANGE');
  end if;
  if not tock.wait_for_lock(tock.named_key('maintenance_job', 'create_segments')) then
    perform tock.refuse(503, 'the last segment is nearly full, and another transaction is making the next',
      null, 'try again in a moment');
  end if;
  loop
    select e.* into v_newest from tock.segments e order by e.number desc limit 1;
    exit when v_newest.end_position > p_position;
    perform tock.create_segment(v_newest.end_position,
      v_newest.end_position + least(1073741824,
        greatest(v_newest.end_position - v_newest.first_position, 1048576)));
  end loop;
exception
  when lock_not_available then
    perform tock.refuse(503,
      'the last segment is nearly full, and a lock on tock.runs, leases, results, run_overrides or steps '
      'blocks the next', null,
      'try again; pg_locks shows the sessions that lock these tables');
end $$;
