-- The last run of each chain within the segment. If a chain continues elsewhere, its state is null and
-- current_id is the next id. All chains are followed at once, step by step, as far as they stay within the
-- segment.
create or replace function tock.follow_runs_{segment}(p_open tock.resolved_task[])
returns setof tock.resolved_task language sql stable as $$
  with recursive walk as (
    select o.n, o.current_id as next_id, 0 as steps, null::bigint as id, null::bigint as task_id,
      null::text as state, null::text collate "C" as queue
    from unnest(p_open) o
    union all
    select w.n, d.next_id, w.steps + 1, w.next_id, coalesce(r.task_id, w.next_id), d.state, s.queue
    from walk w
    cross join lateral (
      select r.stream, r.position, r.task_id, r.options from tock.runs_{segment} r
      where r.stream = tock.stream_of(w.next_id) and r.position = tock.position_of(w.next_id) offset 0) r
    join tock.streams s on s.number = r.stream
    cross join lateral tock.run_state_{segment}(r.stream, r.position, r.options) d
    where w.next_id >= {first_position}::bigint << 20 and w.next_id < {end_position}::bigint << 20
      and tock.stream_of(w.next_id) <> 0)
  select l.n, l.task_id, coalesce(l.next_id, l.id),
    case when l.next_id is null then
      case when l.state in ('failed', 'lost', 'superseded') then 'dead' else l.state end end, l.queue
  from (select distinct on (w.n) w.* from walk w order by w.n, w.steps desc) l
  where l.steps > 0
$$;
