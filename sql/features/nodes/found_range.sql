-- A lower range would set the sequence back. Before the first call the database may be in a range that
-- another node has: then the ids of its tasks would lead to that node. After it each range was given to this
-- database, so it may go on to a further one. The lock keeps other calls from making segments. Writers wait
-- for the change of the sequence until this transaction ends.
create or replace function tock.found_range(p_range integer)
returns bigint language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_first bigint := p_range::bigint << 33;
  v_end bigint := tock.end_of_range();
  v_range bigint;
begin
  perform tock.check_read_committed('found_range');
  perform tock.check_range(p_range, 0, 1023, 'range');
  if not tock.wait_for_lock(tock.named_key('maintenance_job', 'create_segments')) then
    perform tock.refuse(503, 'another transaction is making or ending segments', null,
      'try again in a moment');
  end if;
  v_range := (select s.last_value >> 33 from tock.positions s);
  if p_range < v_range then
    perform tock.refuse(409,
      pg_catalog.format('this database is in range %s already, and ids only grow', v_range), 'range',
      'give it a higher range');
  elsif p_range > v_range and v_end = 8796093022208 and (exists (select from tock.runs)
    or exists (select from tock.waiting) or exists (select from tock.promotions))
  then
    perform tock.refuse(409,
      pg_catalog.format('this database has tasks, and their ids are in range %s', v_range), 'range',
      pg_catalog.format('give it range %s, or found range %s in a database without tasks', v_range,
        p_range));
  end if;
  execute pg_catalog.format('alter sequence tock.positions maxvalue %s', v_first + 8589934591);
  if p_range > v_range then
    perform tock.create_segment(v_first, v_first + 16777216);
    perform pg_catalog.setval('tock.positions', v_first);
  end if;
  perform tock.create_segments();
  perform tock.write_audit_log('found_range', p_range::text);
  return v_first + 8589934591 - (select s.last_value from tock.positions s);
end $$;

comment on function tock.found_range is
  'Gives this database a range of ids, 0 to 1023, as a node of several: its ids and leases name the range '
  'from then on, and it uses no other. Returns the number of ids that are left in it. TK409 for a range '
  'below the present one, or for another range than the present one at the first call if there are tasks.';
