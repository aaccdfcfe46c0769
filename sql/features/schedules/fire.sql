-- Fires due schedules, all or none: enqueues their tasks, records the outcome of each fire, and stores when
-- they are due next. The caller holds their row locks.
create or replace function tock.fire_all(p_fires tock.schedule_next_fires[], p_now timestamptz)
returns void language plpgsql volatile as $$
declare
  -- only schedules whose overlap depends on the last task are looked up
  v_ids bigint[] := array(
    select f.last_task_id from unnest(p_fires) f join tock.schedules s on s.name = f.schedule
    where s.overlap <> 'queue' and f.last_task_id is not null);
  v_unended bigint[] := case when v_ids = '{}' then v_ids else array(
    select v_ids[w.n] from tock.resolve_tasks(v_ids) w where w.state in ('waiting', 'ready', 'running')) end;
  v_cancelled bigint[] := '{}';
  v_was tock.schedule_next_fires;
  v_schedule tock.schedules;
  v_firing tock.firing_plan;
  v_fires timestamptz[];
  v_next tock.schedule_next_fires[] := '{}';
  v_fired tock.schedule_history[] := '{}';
  v_task tock.schedule_history;
  v_tasks jsonb[] := '{}';
  v_queues text[] := '{}';
  v_queue text;
  v_at integer[];
begin
  for v_n in 1 .. pg_catalog.cardinality(p_fires) loop
    v_was := p_fires[v_n];
    select s.* into strict v_schedule from tock.schedules s where s.name = v_was.schedule;
    v_firing := tock.plan_firing(v_schedule, v_was.fire_at, p_now);
    v_task := null;
    v_task.schedule := v_was.schedule;
    -- only the first row of a firing has due_at: fires_from() counts these
    v_task.due_at := v_was.due_at;
    if v_firing.missed_from is not null then
      v_task.fire_at := v_firing.missed_from;
      v_task.until_at := v_firing.missed_until;
      v_task.outcome := 'missed';
      v_fired := v_fired || v_task;
      v_queues := v_queues || null::text;
      v_tasks := v_tasks || null::jsonb;
      v_task.due_at := null;
    end if;
    v_fires := v_firing.fires;
    if v_schedule.overlap = 'replace' and v_was.last_task_id = any (v_unended) and v_fires <> '{}' then
      v_cancelled := v_cancelled || v_was.last_task_id;
    end if;
    -- a schedule that may not overlap fires once a call: skip takes the first due fire, replace the last
    for v_k in 1 .. pg_catalog.cardinality(v_fires) loop
      v_task.fire_at := v_fires[v_k];
      v_task.until_at := null;
      v_task.outcome := case
        when v_schedule.overlap = 'skip'
          and (v_k > 1 or coalesce(v_was.last_task_id = any (v_unended), false)) then 'overlapped'
        when v_schedule.overlap = 'replace' and v_k < pg_catalog.cardinality(v_fires) then 'replaced'
        else 'fired' end;
      v_fired := v_fired || v_task;
      v_queues := v_queues || case when v_task.outcome = 'fired' then v_schedule.queue end;
      v_tasks := v_tasks || case when v_task.outcome = 'fired'
        then tock.task_of(v_schedule, v_fires[v_k]) end;
      v_task.due_at := null;
    end loop;
    v_was.fire_at := v_firing.next_fire_at;
    v_was.due_at := v_firing.next_due_at;
    if v_task.outcome is not null then
      v_was.last_fired_at := p_now;
      v_was.last_fire_at := v_task.fire_at;
      v_was.last_outcome := v_task.outcome;
    end if;
    v_was.last_error := null;
    v_was.failures := 0;
    v_next := v_next || v_was;
  end loop;
  if v_cancelled <> '{}' then
    perform tock.cancel(v_cancelled);
  end if;
  for v_queue in select distinct q from unnest(v_queues) q where q is not null order by q loop
    v_at := array(select n from unnest(v_queues) with ordinality q (queue, n)
      where q.queue = v_queue order by n);
    v_ids := tock.enqueue(v_queue,
      pg_catalog.to_jsonb(array(select v_tasks[a.n] from unnest(v_at) with ordinality a (n, k)
        order by a.k)));
    for v_n in 1 .. pg_catalog.cardinality(v_at) loop
      v_fired[v_at[v_n]].task_id := v_ids[v_n];
    end loop;
  end loop;
  insert into tock.schedule_history (schedule, fire_at, until_at, due_at, fired_at, outcome, task_id)
    select d.schedule, d.fire_at, d.until_at, d.due_at, p_now, d.outcome, d.task_id
    from unnest(v_fired) with ordinality d order by d.ordinality;
  delete from tock.schedule_next_fires f using unnest(p_fires) w
  where f.schedule = w.schedule and f.turn = w.turn;
  insert into tock.schedule_next_fires (schedule, turn, due_at, fire_at, last_fire_at, last_fired_at,
    last_outcome, last_task_id)
    select n.schedule, n.turn + 1, n.due_at, n.fire_at, n.last_fire_at, n.last_fired_at, n.last_outcome,
      coalesce(t.task_id, n.last_task_id)
    from unnest(v_next) n
    left join (
      select distinct on (d.schedule) d.schedule, d.task_id
      from unnest(v_fired) with ordinality d where d.task_id is not null
      order by d.schedule, d.ordinality desc) t using (schedule);
end $$;
