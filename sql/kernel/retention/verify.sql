-- This job finds runs that any bug has lost. In a closed segment, the number of runs in each stream must
-- equal the number that its leases claimed and skipped. Missing runs are made ready again.
create or replace function tock.verify_segments(p_limit integer default 1000000)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_segment tock.segments;
  v_left integer := p_limit;
  v_scanned integer := 0;
  v_count integer;
  v_last bigint;
  v_leased bigint;
begin
  select e.* into v_segment from tock.segments e
  where e.closed_at is not null and e.verified_at is null order by e.number limit 1 for update;
  if not found then
    return 0;
  end if;
  while v_left > 0 loop
    if v_segment.verify_position is null then
      execute pg_catalog.format(
        'select r.stream from tock.runs_%s r where r.stream > $1 order by r.stream limit 1',
        v_segment.number) into v_segment.verify_stream using coalesce(v_segment.verify_stream, 0);
      if v_segment.verify_stream is null then
        update tock.segments e set verified_at = pg_catalog.now(), verify_stream = null,
          queues = v_segment.queues
        where e.number = v_segment.number;
        return v_scanned + 1;
      end if;
      v_segment.verify_position := -1;
      v_segment.verify_runs := 0;
      v_segment.queues := array(select distinct q from unnest(
        v_segment.queues || (select s.queue from tock.streams s where s.number = v_segment.verify_stream)) q
        order by q);
    end if;
    execute pg_catalog.format($q$
      select count(*), max(n.position) from (
        select r.position from tock.runs_%s r where r.stream = $1 and r.position > $2
        order by r.stream, r.position limit $3) n$q$, v_segment.number)
      into v_count, v_last using v_segment.verify_stream, v_segment.verify_position, v_left;
    v_segment.verify_runs := v_segment.verify_runs + v_count;
    v_segment.verify_position := coalesce(v_last, v_segment.verify_position);
    if v_count < v_left then
      execute pg_catalog.format(
        'select coalesce(sum(l.runs + l.skipped), 0) from tock.leases_%s l where l.stream = $1',
        v_segment.number) into v_leased using v_segment.verify_stream;
      if v_leased <> v_segment.verify_runs then
        perform tock.requeue_missing_runs(v_segment.number, v_segment.verify_stream,
          v_segment.verify_runs, v_leased);
      end if;
      v_segment.verify_position := null;
    end if;
    v_scanned := v_scanned + v_count + 1;
    v_left := v_left - v_count - 100;  -- a stream costs as much as about 100 runs
  end loop;
  update tock.segments e set verify_stream = v_segment.verify_stream,
    verify_position = v_segment.verify_position, verify_runs = v_segment.verify_runs,
    queues = v_segment.queues
  where e.number = v_segment.number;
  return v_scanned;
end $$;

comment on function tock.verify_segments is
  'Compares the runs of the oldest unverified closed segment with its leases, about p_limit a call, and '
  'continues there in the next call; returns the number of rows that it scanned.';

-- Makes runs of a closed segment ready again that have no result and were never leased, and reports the
-- difference.
create or replace function tock.requeue_missing_runs(
  p_segment integer, p_stream integer, p_runs bigint, p_leased bigint)
returns void language plpgsql volatile as $$
declare
  v_missing tock.ending[];
  v_in_leases integer;
  v_requeued integer := 0;
begin
  execute pg_catalog.format('select m.* from tock.missing_runs_%s($1) m', p_segment)
    into v_missing, v_in_leases using p_stream;
  for v_n in 1 .. pg_catalog.cardinality(v_missing) by 10000 loop
    v_requeued := v_requeued + tock.end_runs(p_segment, v_missing[v_n : v_n + 9999]);
  end loop;
  insert into tock.reports (kind, detail) values ('verify_segments', pg_catalog.jsonb_build_object(
    'segment', p_segment, 'stream', p_stream, 'queue',
    (select s.queue from tock.streams s where s.number = p_stream),
    'runs', p_runs, 'leased', p_leased, 'requeued', v_requeued, 'in_leases', v_in_leases));
end $$;
