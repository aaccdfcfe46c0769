-- Findings about the oldest segment that ended a day ago and is not closed, and the oldest one that is not
-- dropped a day after its retention, or after eight tries. A segment may stay open for as long as a task
-- takes, but after a day it fills the disk.
create or replace function tock.doctor_of_segments()
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'a segment does not close', 'warning',
    pg_catalog.format('segment %s, ended at %s, waits for: %s; %s kept', o.number,
      tock.utc(o.over_at), w.why, tock.some(o.segments, 'segment is', 'segments are')), w.hint
  from (
    select e.number, n.started_at as over_at, e as segment,
      (select count(*) from tock.segments c where c.number <= n.number) as segments
    from tock.segments e
    cross join lateral (
      select f.* from tock.segments f where f.number > e.number order by f.number limit 1) n
    where e.closed_at is null and n.started_at < pg_catalog.clock_timestamp() - interval '1 day'
    order by e.number limit 1) o
  cross join lateral tock.why_not_closed(o.segment) w
  union all
  (select 'history is not dropped', 'warning',
    pg_catalog.format('segment %s was closed at %s, and its drop was tried %s', e.number,
      tock.utc(e.closed_at), tock.some(e.drop_tries, 'time')),
    'long transactions read the tables of Tock all the time: find them in pg_locks, then '
    'select tock.run_maintenance(''drop_expired_segments'')'
  from tock.segments e
  where e.closed_at is not null and tock.may_be_dropped(e.number)
    and (e.drop_tries >= 8 or e.closed_at < pg_catalog.clock_timestamp() - interval '1 day' - (
    select max((tock.policy(q)).retention_seconds) from unnest(e.queues) q) * interval '1 second')
  order by e.number limit 1)
$$;

-- The first reason why an ended segment is not closed, and what to do. The checks are in the order of
-- close_segments().
create or replace function tock.why_not_closed(p_segment tock.segments)
returns table (why text, hint text) language plpgsql volatile as $$
declare
  v_writer integer;
  v_lease record;
  v_stream tock.streams;
begin
  if exists (select from unnest(tock.writers()) w where w like '-1/%') then
    return query
      select 'a prepared transaction was writing',
        'commit prepared or rollback prepared it: see pg_prepared_xacts';
    return;
  end if;
  select l.pid into v_writer from pg_catalog.pg_locks l
  where l.locktype = 'virtualxid' and l.virtualtransaction = any (p_segment.writers_at_end)
    and l.virtualtransaction = any (tock.writers()) and l.pid <> pg_catalog.pg_backend_pid() limit 1;
  if v_writer is not null then
    return query select tock.described_session(v_writer) || ' was writing',
      pg_catalog.format('end its transaction, or select pg_terminate_backend(%s)', v_writer);
    return;
  end if;
  execute pg_catalog.format('select l.stream, l.worker, l.leased_until from tock.leases_%s l
    where l.closed_at is null order by l.leased_until limit 1', p_segment.number) into v_lease;
  if v_lease.stream is not null then
    return query
      select pg_catalog.format('worker %s holds a lease of queue %s until %s',
        coalesce(v_lease.worker, 'unknown'),
        (select s.queue from tock.streams s where s.number = v_lease.stream),
        tock.utc(v_lease.leased_until)),
      'let it end its task; after that time: select tock.run_maintenance(''reap'')';
    return;
  end if;
  select s.* into v_stream from tock.streams s
  where s.awake and s.start_after < p_segment.end_position - 1
    and (tock.first_unread(s.number, tock.cursor_of(s.number))) < p_segment.end_position
  order by s.queue, s.priority limit 1;
  if v_stream.number is not null then
    return query select 'tasks of queue ' || v_stream.queue || ' are not claimed',
      pg_catalog.format('start its workers, resume it if it is paused, or tock purge %s', v_stream.queue);
    return;
  end if;
  return query
    select 'nothing',
      'select tock.run_maintenance(''deactivate_streams''), then select '
      'tock.run_maintenance(''create_segments''), and see in tock.maintenance_jobs why '
      'they did not run';
end $$;
