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

-- The caller holds the lease row against reaping. Two calls that end the same run both come here:
-- results' primary key decides, and only who wrote the result goes on with the task.
-- again_at says when the task is to run again, be it that it failed or that it was done and leads on: now or
-- earlier appends a run at once, later waits. All runs are of one epoch. (Payloads go from table to table, not by arrays: those end at 1 GB.) A task that
-- somebody wants cancelled doesn't go on, and what was changed holds from now on, both as far as that is
-- committed.
create or replace function tock.end_runs(p_epoch integer, p_ended tock.ending[], p_fields text[] default null)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_again tock.going[];
  v_streams integer[];
  v_one tock.ending;
  v_next tock.going;
  v_some boolean;
  v_ready boolean;
  v_later boolean;
  v_slot integer;
  v_count integer;
begin
  foreach v_one in array p_ended loop
    v_some := v_one.again_at is not null;
    exit when v_some;
  end loop;
  if v_some is null then
    return 0;
  elsif v_some then
    v_again := tock.again_hot(p_epoch, p_ended);
    if v_again is null then
      execute tock.again_statement(p_epoch, (select e.first_position from tock.epochs e where e.number = p_epoch))
        into v_again using p_ended;
    end if;
    foreach v_next in array v_again loop
      if v_next.cancelled is null and v_next.position is not null then
        v_again := tock.heed_wishes(v_again);
        exit;
      end if;
    end loop;
    foreach v_next in array v_again loop
      continue when v_next.cancelled is not false or v_next.position is null;
      if v_next.due_at <= v_now then
        v_ready := true;
      else
        v_later := true;
      end if;
    end loop;
    if p_fields is not null then
      perform tock.check_stages_take(v_again, p_fields);
    end if;
    if v_ready then
      v_slot := tock.take_slot();
      if pg_catalog.cardinality(v_again) = 1 then
        v_streams := array[tock.open_stream((v_again[1]).queue, (v_again[1]).priority, (v_again[1]).lane, v_slot)];
      else
        perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
        from (
          select distinct a.queue, a.priority, a.lane from unnest(v_again) a where not a.cancelled and a.due_at <= v_now) d;
        v_streams := array(
          select case when not a.cancelled and a.due_at <= v_now then (
            select t.number from tock.streams t
            where t.queue = a.queue and t.priority = a.priority and t.lane = a.lane and t.slot = v_slot) end
          from unnest(v_again) a order by a.n);
      end if;
    end if;
    if v_later then
      perform tock.check_waiting_ids();
    end if;
  end if;
  v_count := tock.ended_hot(p_epoch, p_ended, v_again, v_streams);
  if v_count is null then
    execute tock.end_statement(p_epoch, v_again is not null) into v_count using p_ended, v_again, v_streams;
  end if;
  perform tock.parents_moved(array(select e.position << 20 | e.stream from unnest(p_ended) e));
  -- a call ends what is done or what isn't, never both
  if (p_ended[1]).state <> 'done' then
    perform tock.note_deaths(p_epoch, p_ended);
  end if;
  return v_count;
end $$;

comment on function tock.end_runs is
  'Writes the results of runs and, for those that go on, the next run or its waiting entry; returns how many had not ended before. p_fields, in the order of the runs, names what leads on with the payload that the task has, which is then checked.';

create or replace function tock.heed_wishes(p_again tock.going[])
returns tock.going[]
language plpgsql
volatile
as $$
declare
  v_wishes tock.wish[] := tock.wishes(array(
    select a.task_id from unnest(p_again) a where a.cancelled is null
    union select a.position << 20 | a.stream from unnest(p_again) a where a.cancelled is null));
begin
  return array(
    select row(a.n, a.stream, a.position, a.task_id, a.attempt, a.max_attempts, a.tenant, a.created_at,
      coalesce(p.bytes, a.bytes), p.id,
      a.queue, coalesce((c.changes ->> 'priority')::smallint, a.priority), a.lane,
      greatest(a.due_at, (c.changes ->> 'run_at')::timestamptz), coalesce(t.cancelled, false) or coalesce(o.cancelled, false),
      a.lost, a.stage_after)::tock.going
    from unnest(p_again) a
    left join unnest(v_wishes) t on t.id = a.task_id
    left join unnest(v_wishes) o on o.id = a.position << 20 | a.stream
    cross join lateral (
      select coalesce(o.changes, '{}') || coalesce(t.changes, '{}') as changes) c
    left join lateral (
      select w.id, (w.changes ->> 'bytes')::integer as bytes
      from (values (1, t.id, t.changes), (2, o.id, o.changes)) w (n, id, changes)
      where w.changes ? 'bytes' and coalesce((w.changes ->> 'at')::bigint >> 20 > a.stage_after, true)
      order by w.n limit 1) p on true
    order by a.n);
end $$;

comment on function tock.heed_wishes is
  'The next attempts of runs as they are wanted, those of whom something may be (cancelled null) and the others, in the same order.';
