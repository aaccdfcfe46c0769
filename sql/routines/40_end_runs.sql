-- The caller holds the lease row against reaping. Two calls that end the same run both come here:
-- results' primary key decides, and only who wrote the result goes on with the task.
-- again_at says when the task is to run again: now or earlier appends a run at once, later waits. All
-- runs are of one epoch. (Payloads go from table to table, not by arrays: those end at 1 GB.) A task that somebody wants cancelled doesn't go on, and what was changed holds
-- from now on, both as far as that is committed.
create or replace function tock.end_runs(p_epoch integer, p_ended tock.ended[])
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
  v_ended tock.ended[] := p_ended;
  v_again tock.again[];
  v_wishes tock.wish[];
  v_slot integer := -1;
  v_count integer;
begin
  if exists (select from unnest(v_ended) e where e.again_at is not null) then
    execute pg_catalog.format($q$
      select array(
        select row(e.n, r.stream, r.position, coalesce(r.task_id, r.position << 20 | r.stream), r.attempt, r.max_attempts,
          r.tenant, r.created_at, r.bytes, null, s.queue, s.priority, s.lane, e.again_at, false, r.lost)::tock.again
        from unnest($1) with ordinality e(stream, position, state, result, error, again_at, attempt, lost, n)
        cross join lateral (
          select r.* from tock.runs_%1$s r where r.stream = e.stream and r.position = e.position
          offset 0) r  -- a fence: the planner may not look up by the stream alone
        join tock.streams s on s.number = e.stream
        where e.again_at is not null)$q$, p_epoch) into v_again using v_ended;
    v_wishes := tock.wishes(array(
      select a.task_id from unnest(v_again) a union select a.position << 20 | a.stream from unnest(v_again) a));
    if pg_catalog.cardinality(v_wishes) > 0 then
      v_again := array(
        select row(a.n, a.stream, a.position, a.task_id, a.attempt, a.max_attempts, a.tenant, a.created_at,
          coalesce((c.changes ->> 'bytes')::integer, a.bytes),
          case when t.changes ? 'bytes' then t.id when o.changes ? 'bytes' then o.id end,
          a.queue, coalesce((c.changes ->> 'priority')::smallint, a.priority), a.lane,
          greatest(a.due_at, (c.changes ->> 'run_at')::timestamptz), coalesce(t.cancelled, false) or coalesce(o.cancelled, false),
          a.lost)::tock.again
        from unnest(v_again) a
        left join unnest(v_wishes) t on t.id = a.task_id
        left join unnest(v_wishes) o on o.id = a.position << 20 | a.stream
        cross join lateral (
          select coalesce(o.changes, '{}') || coalesce(t.changes, '{}') as changes) c);
    end if;
  end if;
  if exists (select from unnest(v_again) a where a.due_at <= v_now and not a.cancelled) then
    v_slot := tock.take_slot();
    perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
    from (select distinct a.queue, a.priority, a.lane from unnest(v_again) a where a.due_at <= v_now and not a.cancelled) d;
  end if;
  if exists (select from unnest(v_again) a where a.due_at > v_now and not a.cancelled) then
    perform tock.check_waiting_ids();
  end if;
  execute pg_catalog.format($q$
    with ended as materialized (
      select e.* from unnest($1) with ordinality
        e(stream, position, state, result, error, again_at, attempt, lost, n)
    ), again as materialized (
      select pg_catalog.nextval('tock.positions') as next_position, a.*
      from (
        select a.*, e.attempt as next_attempt, e.lost as next_lost, case when a.due_at <= $3 then t.number else 0 end as next_stream
        from unnest($2) a join ended e using (n)
        left join tock.streams t
          on t.queue = a.queue and t.priority = a.priority and t.lane = a.lane and t.slot = $4
        where not a.cancelled
        order by a.n) a
    ), written as (
      insert into tock.results_%1$s (stream, position, state, result, error, next_id)
      select e.stream, e.position, case when e.again_at is not null and a.n is null then 'cancelled' else e.state end,
        e.result, e.error, a.next_position << 20 | a.next_stream
      from ended e left join again a using (n)
      order by e.stream, e.position
      on conflict do nothing
      returning stream, position
    ), going_on as (
      select a.*, case when a.payload_of is null then r.payload else tock.changed_payload(a.payload_of) end as payload
      from again a join written w using (stream, position)
      cross join lateral (
        select r.payload from tock.runs_%1$s r where r.stream = a.stream and r.position = a.position offset 0) r
    ), ready as (
      insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload)
      select g.next_stream, g.next_position, g.task_id, g.next_attempt, g.next_lost, g.max_attempts, g.tenant, g.created_at,
        g.bytes, g.payload
      from going_on g where g.next_stream <> 0
    ), later as (
      insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
        created_at, bytes, payload)
      select g.next_position, g.task_id, g.due_at, g.queue, g.priority, g.lane, g.next_attempt, g.next_lost, g.max_attempts,
        g.tenant, g.created_at, g.bytes, g.payload
      from going_on g where g.next_stream = 0
    )
    select count(*) from written$q$, p_epoch) into v_count using v_ended, v_again, v_now, v_slot;
  return v_count;
end $$;

comment on function tock.end_runs is
  'Writes the results of runs and, for those that go on, the next run or its waiting entry; returns how many had not ended before.';

create or replace function tock.backoff_seconds(p_policy tock.queues, p_failures integer)
returns double precision
language sql
volatile
as $$
  select least(p_policy.backoff_cap_seconds,
      p_policy.backoff_base_seconds * p_policy.backoff_factor ^ least(p_failures - 1, 300))
    * (1 - p_policy.backoff_jitter * pg_catalog.random())
$$;

comment on function tock.backoff_seconds is
  'Seconds to wait after the n-th failure: base * factor^(n-1), capped, less a random share of up to the jitter.';
