create or replace function tock.change(p_ids bigint[], p_changes jsonb)
returns table (id bigint, state text, changed boolean) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s'
set plan_cache_mode = auto as $$
#variable_conflict use_column
declare
  v_ids bigint[] := tock.check_ids(p_ids);
  v_changes jsonb := tock.check_changes(p_changes);
  v_tasks tock.resolved_task[];
  v_changed bigint[];
  v_replaced tock.resolved_task[];
  v_now tock.resolved_task[];
begin
  perform tock.check_read_committed('change');
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  for v_try in 1 .. 10 loop
    v_tasks := tock.resolve_each_task(v_ids);
    perform tock.check_payload_fits(v_changes, f.queue, pg_catalog.cardinality(v_ids))
    from (select distinct u.queue from unnest(v_tasks) u) f;
    v_changed := tock.change_waiting(array(select f from unnest(v_tasks) f
      where f.state = 'waiting'), v_changes);
    v_replaced := tock.replace_runs_anywhere(array(
      select f from unnest(v_tasks) f where f.state = 'ready'), v_changes);
    v_changed := v_changed || array(select r.current_id from unnest(v_replaced) r);
    perform tock.add_pending_changes(array(
      select f from unnest(v_tasks) f where f.state = 'running' or f.current_id = any (v_changed)),
      v_changes);
    if v_changes ? 'run_at' and v_changed <> '{}' then
      perform tock.on_tasks_rescheduled(v_changed || array(select r.n from unnest(v_replaced) r));
    end if;
    -- a task that started, was promoted or continued with another run meanwhile is changed in the next round
    v_now := array(select w
      from tock.resolve_tasks(array(select f.task_id from unnest(v_tasks) f where f.state = 'running')) w);
    v_ids := array(
      select f.task_id from unnest(v_tasks) f left join unnest(v_now) w on w.task_id = f.task_id
      where case when f.state in ('waiting', 'ready') then f.current_id <> all (v_changed)
        when f.state = 'running' then w.current_id <> f.current_id else false end);
    return query
      select f.task_id, coalesce(w.state, f.state), case when f.state = 'running' then w.state = 'running'
        else f.current_id = any (v_changed) end
      from unnest(v_tasks) f left join unnest(v_now) w on w.task_id = f.task_id
      where f.task_id <> all (v_ids);
    if pg_catalog.cardinality(v_ids) = 0 then
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'some of these tasks are being changed by other calls', 'ids', 'try again');
end $$;

comment on function tock.change is
  'Changes priority, run_at (or delay_seconds) or payload of up to 10,000 tasks. For a running task the '
  'change applies to its next attempt, or to the one after if its attempt is ending at that moment. Returns '
  'one row per task: the state in which it was found, and whether this call changed anything (false if it '
  'had ended). Ready tasks are replaced, in up to 1,000 streams a call. Claims skip these streams until the '
  'transaction ends, so change in a transaction of its own. TK503 if a stream stays claimed for 2 s, TK409 '
  'outside read committed.';

create or replace function tock.reprioritize(p_ids bigint[], p_priority integer)
returns table (id bigint, state text, changed boolean) language sql volatile as $$
  select c.id, c.state, c.changed
  from tock.change(p_ids, pg_catalog.jsonb_build_object('priority', p_priority)) c
$$;

comment on function tock.reprioritize is
  'Gives tasks another priority, 0 (first) to 9: change() with scalar arguments.';

create or replace function tock.reschedule(p_ids bigint[], p_run_at timestamptz)
returns table (id bigint, state text, changed boolean) language sql volatile as $$
  select c.id, c.state, c.changed from tock.change(p_ids, pg_catalog.jsonb_build_object('run_at', p_run_at)) c
$$;

comment on function tock.reschedule is
  'Moves tasks to another time, now if it is past: change() with scalar arguments.';
