-- Drops the partitions and the functions of a segment. 55P03 if it would have to wait for readers, or if the
-- archive was turned on meanwhile.
create or replace function tock.drop_segment_tables(p_segment integer)
returns void language plpgsql volatile as $$
declare
  v_name text;
begin
  execute pg_catalog.format(
    'lock table tock.runs_%1$s, tock.leases_%1$s, tock.results_%1$s, tock.run_overrides_%1$s, '
    'tock.steps_%1$s in access exclusive mode', p_segment);
  if not tock.may_be_dropped(p_segment) then
    raise lock_not_available using message = 'the archive was turned on while the segment was being dropped';
  end if;
  -- from here on other sessions queue behind this one, so nothing below may wait but these locks
  lock table only tock.runs, only tock.leases, only tock.results, only tock.run_overrides,
    only tock.steps in access exclusive mode;
  execute pg_catalog.format(
    'drop table tock.runs_%1$s, tock.leases_%1$s, tock.results_%1$s, tock.run_overrides_%1$s, '
    'tock.steps_%1$s', p_segment);
  for v_name in
    select t.name || '_' || p_segment from tock.segment_templates t where t.kind = 'segment' order by 1
  loop
    execute pg_catalog.format('drop function if exists tock.%I', v_name);
  end loop;
  delete from tock.segments e where e.number = p_segment;
  perform tock.on_segment_dropped(p_segment);
end $$;

-- No other function removes partitions. The drop locks the parent tables, so it waits for readers of every
-- segment, and other sessions queue behind it. So each lock waits only 10 ms. After eight failed tries it
-- waits 30 ms, since transactions of writers may overlap all the time. After a failure the next try is a
-- minute later, then two, four ... an hour. The locks last until the transaction ends, so the drop is its
-- last statement.
create or replace function tock.drop_expired_segments()
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '10ms' as $$
declare
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '5 seconds';
  v_segment tock.segments;
  v_left integer;
begin
  -- Progress is deleted after the drop of its segment, not before. If archiving is turned on in between, the
  -- segment is archived first, with its progress.
  delete from tock.progress p where p.ctid = any (array(
    select k.ctid from tock.progress k
    where k.position < (select min(e.first_position) from tock.segments e)
    order by k.position limit 100000));
  if found then
    return 1;
  end if;
  for v_segment in
    select e.* from tock.segments e
    where tock.is_past_retention(e) and coalesce(e.drop_after, '-infinity') < pg_catalog.now()
      and tock.may_be_dropped(e.number)
    order by e.number limit 4
  loop
    begin
      loop
        v_left := tock.prepare_segment_drop(v_segment.number);
        exit when v_left = 0;
        if pg_catalog.clock_timestamp() > v_until then
          return 1;
        end if;
      end loop;
    exception
      when lock_not_available then
        perform tock.postpone_drop(v_segment);
        continue;
    end;
    begin
      continue when not tock.before_segment_drop(v_segment);
      if v_segment.drop_tries >= 8 then
        perform pg_catalog.set_config('lock_timeout', '30ms', true);
      end if;
      perform tock.drop_segment_tables(v_segment.number);
      return 1;
    exception
      when lock_not_available then
        perform tock.postpone_drop(v_segment);
    end;
  end loop;
  return 0;
end $$;

comment on function tock.drop_expired_segments is
  'Drops the oldest verified segment after its longest retention, one per call; while the archive is on, '
  'only a segment that lies there verified. Returns 1 if it did anything.';

-- Postpones the drop of a segment: by a minute, two, four ... an hour.
create or replace function tock.postpone_drop(p_segment tock.segments)
returns void language sql volatile as $$
  update tock.segments e set drop_tries = e.drop_tries + 1,
    drop_after = pg_catalog.now() + least(interval '1 hour', interval '1 minute' * 2 ^ least(e.drop_tries, 6))
  where e.number = p_segment.number
$$;
