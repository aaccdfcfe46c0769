-- leased_runs() for one segment.
create or replace function tock.leased_runs_{segment}(p_lease uuid)
returns setof tock.claimed language sql volatile as $$
  with leased as materialized (
    select l.* from tock.lease_rows_{segment}(p_lease) l
    where l.closed_at is null and l.leased_until > pg_catalog.clock_timestamp())
  select l.token, l.leased_until, coalesce(r.task_id, tock.id_at(r.position, r.stream)),
    tock.id_at(r.position, r.stream), r.attempt::integer,
    coalesce(r.max_attempts, (tock.policy(s.queue)).max_attempts)::integer,
    s.priority::integer, r.tenant, r.created_at, r.payload
  from leased l
  join tock.streams s on s.number = l.stream
  cross join lateral (
    select r.* from tock.runs_{segment} r
    where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
      and r.position <> all (coalesce(l.skips, '{}'))
    offset 0) r
  where (select e.position from tock.results_{segment} e
    where e.stream = r.stream and e.position = r.position) is null
  order by s.priority, r.position
$$;
