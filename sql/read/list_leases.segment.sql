create or replace function tock.list_leases_{segment}(
  p_until timestamptz, p_stream integer, p_after bigint, p_queue text, p_worker text, p_limit integer)
returns table (leases jsonb, scanned integer, last jsonb) language sql stable as $$
  with seen as materialized (
    select l.* from tock.leases_{segment} l
    where l.closed_at is null and (p_until is null or l.leased_until >= p_until)
      and (p_until is null or (l.leased_until, l.stream, l.after_position) > (p_until, p_stream, p_after))
    order by l.leased_until, l.stream, l.after_position limit 2000
  ), chosen as (
    select s.*, t.queue from seen s join tock.streams t on t.number = s.stream
    where coalesce(t.queue = p_queue, true) and coalesce(s.worker = p_worker, p_worker is null)
    order by s.leased_until, s.stream, s.after_position limit p_limit
  )
  select coalesce((
      select pg_catalog.jsonb_agg(pg_catalog.jsonb_build_object(
        'queue', c.queue, 'worker', c.worker, 'claimed_at', c.claimed_at, 'leased_until', c.leased_until,
        'late', c.leased_until < pg_catalog.clock_timestamp(), 'runs', c.runs,
        'unfinished', c.runs - (
          select count(*) from tock.results_{segment} e
          where e.stream = c.stream and e.position > c.after_position and e.position <= c.last_position
            and e.position <> all (coalesce(c.skips, '{}'))),
        'tasks', (
          select pg_catalog.jsonb_agg(coalesce(r.task_id, tock.id_at(r.position, r.stream))::text
            order by r.position)
          from (
            select r.task_id, r.position, r.stream from tock.runs_{segment} r
            where r.stream = c.stream and r.position > c.after_position and r.position <= c.last_position
              and r.position <> all (coalesce(c.skips, '{}'))
              and (select e.position from tock.results_{segment} e
                where e.stream = r.stream and e.position = r.position) is null
            order by r.stream, r.position limit 10) r),
        'at', pg_catalog.jsonb_build_array(c.leased_until, c.stream, c.after_position)))
      from chosen c), '[]'),
    (select count(*)::integer from seen),
    (select pg_catalog.jsonb_build_array(s.leased_until, s.stream, s.after_position) from seen s
     order by s.leased_until, s.stream, s.after_position offset 1999)
$$;

comment on function tock.list_leases_{segment} is
  'running() for one segment, after a place in it: the leases, the number scanned, and the place of the '
  '2,000th.';
