-- Runs of the segment in the form of the archive, between two places, in the order of stream and position. A
-- run becomes an array of texts in this order, which functions/archive/columns.ts repeats. JSON is
-- PostgreSQL's own text, times are microseconds. next_id may be the id of a waiting row: the run that this
-- became may be gone by now. The last run of a task with steps has one more text: all of them, wherever they
-- lie. So they are archived once, although those of a task that goes on move to later segments.
create or replace function tock.runs_to_archive_{segment}(
  p_stream integer, p_position bigint, p_last_stream integer, p_last_position bigint, p_limit integer)
returns table (stream integer, "position" bigint, begun bigint, created_at timestamptz,
  queue text, texts text[]) language sql
stable as $$
  select r.stream, r.position, r.task_id, r.created_at, s.queue, array[
    tock.id_at(r.position, r.stream)::text, coalesce(r.task_id, tock.id_at(r.position, r.stream))::text,
    d.next_id::text, s.queue, d.state, s.priority::text, r.tenant, r.attempt::text,
    r.max_attempts::text, r.lost::text, tock.micros(r.created_at), tock.micros(d.claimed_at),
    tock.micros(d.leased_until), tock.micros(d.ended_at), d.worker, r.payload::text, d.result::text,
    nullif(d.error, 'null')::text, r.options::text, g.progress::text, g.note, d.cancel_requested::text,
    (select x.of_id from tock.reruns x where x.id = coalesce(r.task_id, tock.id_at(r.position, r.stream))
     limit 1)::text]
    -- one look for all tasks that began in this segment: one for each takes 20 microseconds
    || case when d.next_id is null
      and (coalesce(r.task_id < {first_position}::bigint << 20, false) or exists (
        select from tock.steps x
        where x.task_id >= {first_position}::bigint << 20 and x.task_id < {end_position}::bigint << 20))
      and exists (
        select from tock.steps x
        where x.task_id = any (array[coalesce(r.task_id, tock.id_at(r.position, r.stream))]))
      then tock.steps_to_archive(coalesce(r.task_id, tock.id_at(r.position, r.stream)), r.options) end
  from (
    select u.* from tock.runs_{segment} u
    where (u.stream, u.position) > (p_stream, p_position)
      and (u.stream, u.position) <= (p_last_stream, p_last_position)
    order by u.stream, u.position limit p_limit) r
  join tock.streams s on s.number = r.stream
  cross join lateral tock.run_state_{segment}(r.stream, r.position, r.options) d
  left join lateral (
    select g.progress, g.note from tock.progress g
    where g.position = any (array[r.position, d.lease_after + 1]) and g.stream = r.stream
      and (g.of_all or g.position = r.position)
    order by g.reported_at desc limit 1) g on d.lease_after is not null
  order by r.stream, r.position
$$;
