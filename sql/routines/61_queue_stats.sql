-- Reads only what is unfinished (and the index of dead results): ready counts up to a million a
-- stream, above that it is a floor.
create or replace function tock.queue_stats(p_queue text default null)
returns table (
  queue text, paused boolean, ready bigint, running bigint, waiting bigint, dead bigint, oldest_ready_at timestamptz)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
  with queues as (
    select q.name, q.paused from tock.queues q where q.name <> '*' and (p_queue is null or q.name = p_queue)
  ), ready as (
    select s.queue, sum(r.runs) as runs, min(r.oldest) as oldest
    from tock.streams s
    cross join lateral (select tock.cursor_of(s.number) as after_position offset 0) c
    cross join lateral (
      select count(*) as runs, min(n.oldest) as oldest from (
        select case when row_number() over (order by r.position) = 1 then r.created_at end as oldest
        from tock.runs r where r.stream = s.number and r.position > c.after_position
        order by r.position limit 1000000) n) r
    where s.awake and (p_queue is null or s.queue = p_queue)
    group by s.queue
  ), running as (
    select s.queue, sum(l.runs - (
      select count(*) from tock.results e
      where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position)) as runs
    from tock.leases l join tock.streams s on s.number = l.stream
    where l.closed_at is null and (p_queue is null or s.queue = p_queue)
    group by s.queue
  ), dead as (
    select s.queue, count(*) as runs
    from tock.results e join tock.streams s on s.number = e.stream
    where e.next_id is null and e.state in ('failed', 'lost') and (p_queue is null or s.queue = p_queue)
    group by s.queue
  )
  select q.name, q.paused, coalesce(r.runs, 0)::bigint, coalesce(u.runs, 0)::bigint,
    (select count(*) from tock.waiting w where w.queue = q.name), coalesce(d.runs, 0)::bigint, r.oldest
  from queues q
  left join ready r on r.queue = q.name
  left join running u on u.queue = q.name
  left join dead d on d.queue = q.name
  order by q.name
$$;

comment on function tock.queue_stats is 'How many tasks of each queue are ready, running, waiting and dead, and since when the oldest ready one is there.';
