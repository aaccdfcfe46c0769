-- The next attempts of ended runs of one segment; null for another segment. The result follows the order of
-- the runs; it is null for those without a next attempt. cancelled is null, which means not known yet, if the
-- run or the first run of its task has an override. It is also null if that first run lies in another
-- segment. The laterals with offset 0 are fences: the planner must not look up by the stream alone, nor start
-- with all streams. A task with a concurrency key that continues in another queue must wait for the key
-- there, so it becomes due just after now.
create or replace function tock.next_attempts_{suffix}(p_segment integer, p_ended tock.ending[])
returns tock.next_attempt[] language plpgsql volatile as $$
begin
  if p_segment <> {segment} then
    return null;
  end if;
  return array(
    select row(e.n, r.stream, r.position, r.first_id, r.attempt, r.max_attempts, r.tenant, r.created_at,
      case when e.payload is null then r.bytes
        else coalesce(pg_catalog.octet_length(nullif(e.payload, 'null')::text), 0) end,
      null, coalesce(e.queue, r.queue), r.priority,
      case when e.queue is null then r.lane
        else tock.lane_in(e.queue, r.tenant,
          coalesce(r.options, tock.options_in(null, e.queue, r.position))) end,
      case when e.queue is not null and r.options ? 'concurrency_key'
        then greatest(e.again_at, pg_catalog.clock_timestamp() + interval '1 millisecond')
        else e.again_at end,
      case when r.untouched then false end, r.lost,
      case when e.payload is null then (r.options #>> '{stage,after}')::bigint
        else 9223372036854775807 end)::tock.next_attempt
    from unnest(p_ended) with ordinality
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
    left join lateral (
      select r.*, s.queue, s.priority, s.lane,
        coalesce(r.task_id, tock.id_at(r.position, r.stream)) as first_id,
        (select m.position from tock.run_overrides_{segment} m
         where m.stream = r.stream and m.position = r.position
         limit 1) is null
          and case when r.task_id is null then true
            when tock.position_of(r.task_id) >= {first_position} then (
            select m.position from tock.run_overrides_{segment} m
            where m.stream = tock.stream_of(r.task_id) and m.position = tock.position_of(r.task_id)
            limit 1) is null
          end as untouched
      from tock.runs_{segment} r
      cross join lateral (select s.* from tock.streams s where s.number = r.stream offset 0) s
      where r.stream = e.stream and r.position = e.position
      offset 0) r on e.again_at is not null
    order by e.n);
end $$;
