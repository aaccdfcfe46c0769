-- The caller holds the lease row against reaping. Two calls that end the same run both come here:
-- results' primary key decides, and only who wrote the result goes on with the task.
-- again_at says when the task is to run again: now or earlier appends a run at once, later waits.
create or replace function tock.end_runs(p_ended tock.ended[])
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
  v_slot integer := -1;
  v_count integer;
begin
  if exists (select from unnest(p_ended) e where e.again_at <= v_now) then
    v_slot := tock.take_slot();
    perform tock.open_stream(s.queue, s.priority, s.lane, v_slot)
    from tock.streams s where s.number = any (array(
      select distinct e.stream from unnest(p_ended) e where e.again_at <= v_now));
  end if;
  with ended as materialized (
    select e.* from unnest(p_ended) with ordinality
      e(stream, position, state, result, error, again_at, attempt, lost, n)
  ), again as materialized (
    select pg_catalog.nextval('tock.positions') as next_position, a.*
    from (
      select e.n, e.again_at, e.attempt, e.lost, r.stream, r.position, r.max_attempts, r.tenant, r.created_at,
        r.bytes, r.payload, coalesce(r.task_id, r.position << 20 | r.stream) as task_id,
        s.queue, s.priority, s.lane, case when e.again_at <= v_now then t.number else 0 end as next_stream
      from ended e
      cross join lateral (
        select r.* from tock.runs r where r.stream = e.stream and r.position = e.position
        offset 0) r  -- a fence: the planner may not look up by the stream alone
      join tock.streams s on s.number = e.stream
      left join tock.streams t
        on t.queue = s.queue and t.priority = s.priority and t.lane = s.lane and t.slot = v_slot
      where e.again_at is not null
      order by e.n) a
  ), written as (
    insert into tock.results (stream, position, state, result, error, next_id)
    select e.stream, e.position, e.state, e.result, e.error, a.next_position << 20 | a.next_stream
    from ended e left join again a using (n)
    order by e.stream, e.position
    on conflict do nothing
    returning stream, position
  ), ready as (
    insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload)
    select a.next_stream, a.next_position, a.task_id, a.attempt, a.lost, a.max_attempts, a.tenant, a.created_at,
      a.bytes, a.payload
    from again a join written w using (stream, position) where a.next_stream <> 0
  ), later as (
    insert into tock.waiting (position, task_id, due_at, queue, priority, lane, attempt, lost, max_attempts, tenant,
      created_at, bytes, payload)
    select a.next_position, a.task_id, a.again_at, a.queue, a.priority, a.lane, a.attempt, a.lost, a.max_attempts,
      a.tenant, a.created_at, a.bytes, a.payload
    from again a join written w using (stream, position) where a.next_stream = 0
  )
  select count(*) into v_count from written;
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
