-- What ended in some streams of the segment, with the hour of its end. Most runs ended with their lease, at
-- its close; those with a result of their own did so at that. All began when their lease was claimed. Of a
-- queue, the streams that the audit has not added up yet. Up to p_limit leases and results, and one more.
create or replace function tock.ended_runs_{segment}(p_stream integer, p_queue text, p_limit integer)
returns table (
  hour timestamptz, done bigint, failed integer, lost integer, done_seconds double precision, n bigint)
language sql
stable
as $$
  with chosen as materialized (
    select s.number from tock.streams s
    where (p_stream is null or s.number = p_stream) and (p_queue is null or s.queue = p_queue and (
      select e.audited_at is null and (e.audit_stream is null or s.number > e.audit_stream
        or (s.number = e.audit_stream and e.audit_position is not null))
      from tock.epochs e where e.number = {segment}))
  )
  select pg_catalog.date_trunc('hour', d.ended_at, 'UTC'), d.done, d.failed, d.lost,
    d.done * greatest(0, extract(epoch from d.ended_at - d.claimed_at))::float8, d.n
  from (
    select l.closed_at as ended_at, l.claimed_at, l.runs - own.results as done, 0 as failed, 0 as lost, l.n
    from (
      select l.*, row_number() over () as n
      from chosen s
      cross join lateral (
        select l.stream, l.after_position, l.last_position, l.claimed_at, l.closed_at, l.runs, l.skips
        from tock.leases_{segment} l where l.stream = s.number and l.outcome = 'done' offset 0) l
      limit p_limit + 1) l
    cross join lateral (
      select count(*) as results from tock.results_{segment} e
      where e.stream = l.stream and e.position > l.after_position and e.position <= l.last_position
        and e.position <> all (coalesce(l.skips, '{}')) offset 0) own
    union all
    select e.ended_at, l.claimed_at, (e.state = 'done')::integer, (e.state = 'failed')::integer,
      (e.state = 'lost')::integer, e.n
    from (
      select e.*, row_number() over () as n
      from chosen s
      cross join lateral (
        select e.stream, e.position, e.state, e.ended_at from tock.results_{segment} e
        where e.stream = s.number and e.state in ('done', 'failed', 'lost') offset 0) e
      limit p_limit + 1) e
    left join lateral (
      select k.claimed_at from tock.leases_{segment} k
      where k.stream = e.stream and k.after_position < e.position
      order by k.stream desc, k.after_position desc limit 1) l on true) d
$$;

comment on function tock.ended_runs_{segment} is
  'How runs of a stream, or of a queue, ended in the segment: hour, done, failed, lost, done_seconds.';
