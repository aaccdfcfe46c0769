-- run_at() for one segment.
create or replace function tock.run_at_{segment}(p_id bigint)
returns setof tock.found_run language sql stable as $$
  select p_id, coalesce(r.task_id, p_id), s.queue, s.priority, r.tenant, r.attempt, r.max_attempts, r.lost,
    r.created_at, r.payload, d.state, d.worker, d.claimed_at, d.ended_at, d.result, nullif(d.error, 'null'),
    d.next_id, d.cancel_requested, r.options, d.leased_until, g.progress, g.note
  from tock.runs_{segment} r
  join tock.streams s on s.number = r.stream
  cross join lateral tock.run_state_{segment}(r.stream, r.position, r.options) d
  left join lateral (
    select g.progress, g.note from tock.progress g
    where g.position = any (array[r.position, d.lease_after + 1]) and g.stream = r.stream
      and (g.of_all or g.position = r.position)
    order by g.reported_at desc limit 1) g on d.lease_after is not null
  where r.stream = tock.stream_of(p_id) and r.position = tock.position_of(p_id)
$$;
