-- Writes the results of runs of one segment and the next runs and waiting tasks of p_again; null for another
-- segment. The primary key of results decides which call ended a run: a task continues only if this insert
-- wrote its row. New runs are inserted into the parent table, since the sequence may have reached a later
-- segment. A run that was done although its task was cancelled gets the JSON null as error. So was_ended_so()
-- can tell a repeated completion from a completion after a release. The three arrays have the same order. A
-- task that continues without a stream becomes a waiting task.
create or replace function tock.write_results_{suffix}(
  p_segment integer, p_ended tock.ending[], p_again tock.next_attempt[],
  p_streams integer[])
returns integer language plpgsql volatile as $$
declare
  v_count integer;
begin
  if p_segment <> {segment} then
    return null;
  elsif p_again is null then
    with written as (
      insert into tock.results_{segment} (stream, position, state, result, error)
      select e.stream, e.position, e.state, e.result, e.error from unnest(p_ended) e
      order by e.stream, e.position
      on conflict do nothing
      returning position
    )
    select count(*) from written into v_count;
  else
    with ended as materialized (
      select case when e.goes_on then pg_catalog.nextval('tock.positions') end as next_position, e.*
      from (
        select e.*, not e.cancelled and e.run_position is not null as goes_on
        from unnest(p_ended, p_again, p_streams) with ordinality
          e(stream, position, state, result, error, again_at, next_attempt, next_lost, to_queue, new_payload,
            a_n, run_stream, run_position, task_id, attempt, max_attempts, tenant, created_at, bytes,
            payload_of, queue, priority, lane, due_at, cancelled, lost, stage_after, next_stream, n)
        order by e.n) e
    ), written as (
      insert into tock.results_{segment} (stream, position, state, result, error, next_id)
      select e.stream, e.position, case when e.again_at is not null and not e.goes_on then 'cancelled'
        else e.state end,
        e.result, case when e.state = 'done' and e.again_at is not null and not e.goes_on then 'null'
          else e.error end,
        e.next_position << 20 | coalesce(e.next_stream, 0)
      from ended e
      order by e.stream, e.position
      on conflict do nothing
      returning stream, position
    ), going_on as (
      select e.*,
        case when e.to_queue is null then r.options
          else tock.options_in(r.options, e.to_queue, e.next_position - 1) end as options,
        case when e.payload_of is not null
          then tock.with_own_payload(r.payload, r.options, tock.changed_payload(e.payload_of))
          when e.new_payload is not null then nullif(e.new_payload, 'null')::text::json
          else r.payload end as payload,
        case when e.payload_of is not null and tock.is_whole(r.payload, r.options)
          then pg_catalog.octet_length(
          tock.with_own_payload(r.payload, r.options, tock.changed_payload(e.payload_of))::text)
          else e.bytes end as new_bytes
      from ended e join written w using (stream, position)
      cross join lateral (
        select r.payload, r.options from tock.runs_{segment} r
        where r.stream = e.stream and r.position = e.position offset 0) r
      where e.goes_on
    ), ready as (
      insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at,
        bytes, payload, options)
      select g.next_stream, g.next_position, g.task_id, g.next_attempt, g.next_lost, g.max_attempts,
        g.tenant, g.created_at, g.new_bytes, g.payload, g.options
      from going_on g where g.next_stream is not null
    ), later as (
      insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost,
        max_attempts, tenant, created_at, bytes, payload, options, concurrency_key)
      select g.next_position, g.task_id, g.due_at, g.queue, g.priority, g.lane, g.next_attempt, g.next_lost,
        g.max_attempts, g.tenant, g.created_at, g.new_bytes, g.payload, g.options,
        g.options ->> 'concurrency_key'
      from going_on g where g.next_stream is null
    )
    select count(*) from written into v_count;
  end if;
  return v_count;
end $$;
