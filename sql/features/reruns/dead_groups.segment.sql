-- dead_groups() for one segment: the number of dead tasks that it scanned, and the groups.
create or replace function tock.dead_groups_{segment}(p_queue text, p_scan_limit integer, p_since timestamptz)
returns table (seen bigint, errors jsonb) language sql stable as $$
  with seen as materialized (
    select s.number as stream, x.position
    from (select t.number from tock.streams t where t.queue = p_queue order by t.number offset 0) s
    cross join lateral tock.list_source_{segment}(
      s.number, 0, 9223372036854775807, 9223372036854775807, 'dead', p_scan_limit) x
    limit p_scan_limit
  ), grouped as (
    select tock.error_text(e.error) as error, count(*) as tasks, max(e.ended_at) as newest_at,
      (pg_catalog.array_agg(r.id order by e.ended_at desc, e.position desc))[1] as newest_id
    from seen v
    cross join lateral (
      select e.* from tock.results_{segment} e
      where e.stream = v.stream and e.position = v.position offset 0) e
    cross join lateral (
      select coalesce(r.task_id, tock.id_at(v.position, v.stream)) as id from tock.runs_{segment} r
      where r.stream = v.stream and r.position = v.position offset 0) r
    where e.ended_at >= p_since and (select x.of_id from tock.reruns x where x.of_id = r.id limit 1) is null
    group by 1)
  select (select count(*) from seen), coalesce(pg_catalog.jsonb_agg(g), '[]') from grouped g
$$;
