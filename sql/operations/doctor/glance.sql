-- Facts about the next 200 runs of a stream, with those of its newest lease if that is open. They are the
-- first ready run and since when, the number of ready runs and of their tenants, the last claim or end, and a
-- run that has lost its workers. The next 200 runs of a stream are read, from its open lease on. The first
-- unleased run has been ready for longest. A run that waited before has been ready since its promotion, a
-- later attempt since it was due or since the run before it ended.
create or replace function tock.glance_at_stream(p_stream integer)
returns table (ready_run bigint, ready_at timestamptz, ready integer, tenants integer, active_at timestamptz,
  at_work boolean, lost_id bigint, lost integer) language plpgsql
volatile as $$
declare
  v_after bigint := tock.cursor_of(p_stream);
  v_segment integer := tock.segment_of(coalesce(tock.first_unread(p_stream, v_after), v_after));
begin
  if v_segment is null then
    return;
  end if;
  return query execute pg_catalog.format('select l.* from tock.glance_at_stream_%s($1, $2) l', v_segment)
    using p_stream, v_after;
end $$;

-- glance_at_stream() of up to 2,000 streams of the first 1,000 queues with awake streams, with queue and
-- lane. At most 32 streams of each queue are read, so that the cost does not depend on the backlog.
create or replace function tock.glance_at_queues()
returns table (queue text, lane integer, ready_run bigint, ready_at timestamptz, ready integer,
  tenants integer, active_at timestamptz, at_work boolean, lost_id bigint, lost integer)
language sql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
  with recursive awake (queue, n) as (
    (select s.queue, 1 from tock.streams s where s.awake order by s.queue limit 1)
    union all
    select (select s.queue from tock.streams s where s.awake and s.queue > a.queue order by s.queue
      limit 1), a.n + 1
    from awake a where a.queue is not null and a.n < 1000
  ), chosen as materialized (
    select s.* from awake a
    cross join lateral (
      select s.queue, s.lane & 1023 as lane, s.number from tock.streams s
      where s.awake and s.queue = a.queue order by s.queue, s.priority limit 32) s
    limit 2000)
  select c.queue, c.lane, l.ready_run, l.ready_at, l.ready, l.tenants, l.active_at, l.at_work,
    l.lost_id, l.lost
  from chosen c cross join lateral tock.glance_at_stream(c.number) l
$$;
