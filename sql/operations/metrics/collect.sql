-- A round reads the streams that are awake, or were awake since they were last counted. A call that is cut
-- short leaves its round to the next call. What happens in streams that the round has passed belongs to the
-- next round. A complete round has counted everything that was committed before its start, which is then
-- metrics_progress.finished_at.
create or replace function tock.collect_metrics(
  p_limit integer default 100000, p_seconds double precision default 2)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_until timestamptz;
  v_round tock.metrics_progress;
  v_open tock.metrics_open_leases[];
  v_streams integer[];
  v_left integer[];
  v_part record;
  v_amount integer := 0;
begin
  perform tock.check_range(p_limit, 1, 1000000, 'p_limit');
  if p_seconds is null or p_seconds not between 0 and 60 then
    perform tock.refuse(422, 'p_seconds must be a number from 0 to 60', 'p_seconds');
  elsif not pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(),
    tock.named_key('maintenance_job', 'collect_metrics'))
  then
    return 0;
  end if;
  v_until := pg_catalog.clock_timestamp() + p_seconds * interval '1 second';
  update tock.metrics_progress g set started_at = pg_catalog.clock_timestamp(),
    closed = array(select e.number from tock.segments e where e.closed_at is not null and not e.counted)
  where g.started_at is null;
  select g.* into v_round from tock.metrics_progress g;
  <<round>>
  begin
    loop
      v_open := array(
        select o::tock.metrics_open_leases from tock.metrics_open_leases o
        where (o.stream, o.after_position) > (v_round.open_stream, v_round.open_after)
        order by o.stream, o.after_position limit least(p_limit, 5000));
      exit when v_open = '{}';
      v_amount := v_amount + (select c.amount from tock.collect_batch('{}', v_open, 1) c);
      v_round.open_stream := v_open[pg_catalog.cardinality(v_open)].stream;
      v_round.open_after := v_open[pg_catalog.cardinality(v_open)].after_position;
      exit round when pg_catalog.clock_timestamp() >= v_until;
    end loop;
    -- leases that are added from now on belong to the next round
    v_round.open_stream := 2147483647;
    loop
      v_streams := array(
        select s.number from tock.streams s
        left join tock.metrics_cursors c on c.stream = s.number
        where s.number > v_round.stream
          and (s.awake or s.start_after > coalesce(least(c.runs_to, c.leases_to), -1))
        order by s.number limit 200);
      exit when v_streams = '{}';
      v_left := v_streams;
      while v_left <> '{}' loop
        select c.* into v_part
        from tock.collect_batch(v_left, '{}', greatest(1, p_limit / pg_catalog.cardinality(v_left))) c;
        v_left := v_part.unfinished;
        v_amount := v_amount + v_part.amount;
        exit round when pg_catalog.clock_timestamp() >= v_until and v_left <> '{}';
      end loop;
      v_round.stream := v_streams[pg_catalog.cardinality(v_streams)];
      exit round when pg_catalog.clock_timestamp() >= v_until;
    end loop;
    perform tock.record_depth();
    perform tock.roll_up_minutes();
    update tock.segments e set counted = true where e.number = any (v_round.closed);
    v_round.finished_at := v_round.started_at;
    v_round.started_at := null;
    v_round.open_stream := 0;
    v_round.open_after := -1;
    v_round.stream := 0;
  end;
  update tock.metrics_progress g set started_at = v_round.started_at, finished_at = v_round.finished_at,
    open_stream = v_round.open_stream, open_after = v_round.open_after, stream = v_round.stream;
  return v_amount;
end $$;

comment on function tock.collect_metrics is
  'Counts what has happened since the last call into tock.queue_metrics and tock.totals, in batches of '
  'p_limit for up to p_seconds. Returns how many runs, leases and open leases it read. The next call '
  'continues with the rest.';
