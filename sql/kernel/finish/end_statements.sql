-- What the next attempts of runs would be, in the order of the runs, with nothing for those that end for
-- good. Where something may be wanted of a task (there is a mark, or its first run lies in another epoch)
-- cancelled is null: not known yet. The laterals with offset 0 are fences: the planner may not look up by
-- the stream alone, nor begin with all streams. What goes on in another queue comes to its gate there by way of waiting, so
-- it is due later than now. $1 what ended
create or replace function tock.again_statement(p_epoch integer, p_first bigint)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    select array(
      select row(e.n, r.stream, r.position, r.first_id, r.attempt, r.max_attempts, r.tenant, r.created_at,
        case when e.payload is null then r.bytes else coalesce(pg_catalog.octet_length(nullif(e.payload, 'null')::text), 0) end,
        null, coalesce(e.queue, r.queue), r.priority,
        case when e.queue is null then r.lane
          else tock.lane_in(e.queue, r.tenant, coalesce(r.options, tock.options_in(null, e.queue, r.position))) end,
        case when e.queue is not null and r.options ? 'gate'
          then greatest(e.again_at, pg_catalog.clock_timestamp() + interval '1 millisecond') else e.again_at end,
        case when r.untouched then false end, r.lost,
        case when e.payload is null then (r.options #>> '{stage,after}')::bigint else 9223372036854775807 end)::tock.going
      from unnest($1) with ordinality
        e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
      left join lateral (
        select r.*, s.queue, s.priority, s.lane, coalesce(r.task_id, r.position << 20 | r.stream) as first_id,
          (select m.position from tock.marks_%1$s m where m.stream = r.stream and m.position = r.position limit 1) is null
            and case when r.task_id is null then true when r.task_id >> 20 >= %2$s then (
              select m.position from tock.marks_%1$s m
              where m.stream = (r.task_id & 1048575)::integer and m.position = r.task_id >> 20 limit 1) is null
            end as untouched
        from tock.runs_%1$s r
        cross join lateral (select s.* from tock.streams s where s.number = r.stream offset 0) s
        where r.stream = e.stream and r.position = e.position
        offset 0) r on e.again_at is not null
      order by e.n)$q$, p_epoch, p_first)
$$;

comment on function tock.again_statement is
  'The statement that reads what goes on of the runs of an epoch that ended, with the epoch''s first position.';

-- The results' primary key decides who ended a run; only what is written here goes on. New runs go by the
-- parent: the sequence may be in a later epoch. What was done, of a task that was cancelled, has the error JSON null: so
-- the same completion, made again, is told from one of a run that was given back. The arrays have one order; what goes on without a stream waits.
-- $1 what ended, and where something goes on $2 the next attempts, $3 their streams
create or replace function tock.end_statement(p_epoch integer, p_again boolean)
returns text
language sql
stable
as $$
  select case when p_again then pg_catalog.format($q$
    with ended as materialized (
      select case when e.goes_on then pg_catalog.nextval('tock.positions') end as next_position, e.*
      from (
        select e.*, not e.cancelled and e.run_position is not null as goes_on
        from unnest($1, $2, $3) with ordinality
          e(stream, position, state, result, error, again_at, next_attempt, next_lost, to_queue, new_payload,
            a_n, run_stream, run_position, task_id, attempt, max_attempts, tenant, created_at, bytes, payload_of, queue,
            priority, lane, due_at, cancelled, lost, stage_after, next_stream, n)
        order by e.n) e
    ), written as (
      insert into tock.results_%1$s (stream, position, state, result, error, next_id)
      select e.stream, e.position, case when e.again_at is not null and not e.goes_on then 'cancelled' else e.state end,
        e.result, case when e.state = 'done' and e.again_at is not null and not e.goes_on then 'null' else e.error end, e.next_position << 20 | coalesce(e.next_stream, 0)
      from ended e
      order by e.stream, e.position
      on conflict do nothing
      returning stream, position
    ), going_on as (
      select e.*, case when e.to_queue is null then r.options else tock.options_in(r.options, e.to_queue, e.position) end as options,
        case when e.payload_of is not null then tock.with_own_payload(r.payload, r.options, tock.changed_payload(e.payload_of))
          when e.new_payload is not null then nullif(e.new_payload, 'null') else r.payload end as payload,
        case when e.payload_of is not null and tock.is_whole(r.payload, r.options) then pg_catalog.octet_length(
          tock.with_own_payload(r.payload, r.options, tock.changed_payload(e.payload_of))::text) else e.bytes end as new_bytes
      from ended e join written w using (stream, position)
      cross join lateral (
        select r.payload, r.options from tock.runs_%1$s r where r.stream = e.stream and r.position = e.position offset 0) r
      where e.goes_on
    ), ready as (
      insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload,
        options)
      select g.next_stream, g.next_position, g.task_id, g.next_attempt, g.next_lost, g.max_attempts, g.tenant, g.created_at,
        g.new_bytes, g.payload, g.options
      from going_on g where g.next_stream is not null
    ), later as (
      insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
        created_at, bytes, payload, options, gate)
      select g.next_position, g.task_id, g.due_at, g.queue, g.priority, g.lane, g.next_attempt, g.next_lost, g.max_attempts,
        g.tenant, g.created_at, g.new_bytes, g.payload, g.options, g.options ->> 'gate'
      from going_on g where g.next_stream is null
    )
    select count(*) from written$q$, p_epoch)
  else pg_catalog.format($q$
    with written as (
      insert into tock.results_%s (stream, position, state, result, error)
      select e.stream, e.position, e.state, e.result, e.error from unnest($1) e
      order by e.stream, e.position
      on conflict do nothing
      returning position
    )
    select count(*) from written$q$, p_epoch) end
$$;

comment on function tock.end_statement is
  'The statement that writes the results of an epoch''s runs and, where some go on (p_again), the next runs and waiting entries.';
