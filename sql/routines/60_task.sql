-- A run's state is derived: a result says it, else the lease that covers it, else it is ready.
create or replace function tock.run_state(p_stream integer, p_position bigint)
returns table (state text, worker text, started_at timestamptz, ended_at timestamptz, result jsonb, error jsonb, next_id bigint)
language sql
stable
as $$
  select coalesce(e.state, case when l.last_position is null then 'ready' else coalesce(l.outcome, 'running') end),
    l.worker, l.claimed_at, coalesce(e.ended_at, l.closed_at), e.result, e.error, e.next_id
  from (select) one
  left join tock.results e on e.stream = p_stream and e.position = p_position
  left join lateral (
    select n.* from (
      select c.* from tock.leases c where c.stream = p_stream and c.after_position < p_position
      order by c.after_position desc limit 1) n
    where n.last_position >= p_position) l on true
$$;

comment on function tock.run_state is 'How a run stands, wherever its partition is.';

create or replace function tock.task(p_id bigint)
returns table (
  id bigint, queue text, state text, priority integer, tenant text, attempt integer, max_attempts integer,
  lost integer, created_at timestamptz, run_at timestamptz, ended_at timestamptz, payload jsonb, result jsonb,
  error jsonb, runs jsonb)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
#variable_conflict use_column
declare
  v_task bigint := coalesce((
    select r.task_id from tock.runs r
    where r.stream = (p_id & 1048575)::integer and r.position = p_id >> 20), p_id);
  v_next bigint := v_task;
  v_last record;
begin
  runs := '[]';
  while v_next is not null loop
    if v_next & 1048575 = 0 then
      if exists (select from tock.promotions p where p.position = v_next >> 20) then
        v_next := (select p.run_id from tock.promotions p where p.position = v_next >> 20);
        continue;
      end if;
      select w.queue, 'waiting' as state, w.priority, w.tenant, w.attempt, w.max_attempts, w.lost, w.created_at,
        w.due_at, w.payload into v_last
      from tock.waiting w where w.position = v_next >> 20;
      if not found then
        return;
      end if;
      id := v_task; queue := v_last.queue; state := 'waiting'; priority := v_last.priority; tenant := v_last.tenant;
      attempt := v_last.attempt; lost := v_last.lost; created_at := v_last.created_at; run_at := v_last.due_at;
      payload := v_last.payload; max_attempts := v_last.max_attempts; ended_at := null;
      exit;
    end if;
    select s.queue, s.priority, r.*, d.state, d.worker, d.started_at, d.ended_at, d.result, d.error, d.next_id into v_last
    from tock.runs r
    join tock.streams s on s.number = r.stream
    cross join lateral tock.run_state(r.stream, r.position) d
    where r.stream = (v_next & 1048575)::integer and r.position = v_next >> 20;
    if not found then
      return;
    end if;
    id := v_task; queue := v_last.queue; priority := v_last.priority;
    tenant := v_last.tenant; attempt := v_last.attempt; lost := v_last.lost; created_at := v_last.created_at;
    payload := v_last.payload; max_attempts := v_last.max_attempts; result := v_last.result; error := v_last.error;
    ended_at := v_last.ended_at; run_at := null;
    state := case when v_last.state in ('failed', 'lost', 'superseded') then 'dead' else v_last.state end;
    runs := runs || pg_catalog.jsonb_build_object('id', v_next::text, 'attempt', v_last.attempt,
      'state', v_last.state, 'worker', v_last.worker, 'started_at', v_last.started_at,
      'ended_at', v_last.ended_at, 'error', v_last.error);
    v_next := v_last.next_id;
  end loop;
  if v_task is null then
    return;
  end if;
  max_attempts := coalesce(max_attempts, (tock.policy(queue)).max_attempts);
  return next;
end $$;

comment on function tock.task is
  'A task by its id or any of its runs'' ids: its state, and all its runs in order with worker, times and error. No row when there is none.';

create or replace function tock.queue_of_task(p_id bigint)
returns text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    (select s.queue from tock.streams s where s.number = p_id & 1048575),
    (select w.queue from tock.waiting w where w.position = p_id >> 20),
    (select s.queue from tock.promotions p join tock.streams s on s.number = p.run_id & 1048575
     where p.position = p_id >> 20))
$$;

comment on function tock.queue_of_task is 'The queue a task''s id belongs to; null when there is none.';
