create or replace function tock.change(p_ids bigint[], p_changes jsonb)
returns table (id bigint, state text, changed boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set enable_seqscan = off
set plan_cache_mode = auto
as $$
#variable_conflict use_column
declare
  v_ids bigint[] := tock.check_ids(p_ids);
  v_changes jsonb := tock.check_changes(p_changes);
  v_found tock.whereabout[];
  v_done bigint[];
  v_replaced tock.whereabout[];
  v_now tock.whereabout[];
begin
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  for v_try in 1 .. 10 loop
    v_found := tock.each_task(v_ids);
    perform tock.check_payload_fits(v_changes, f.queue, pg_catalog.cardinality(v_ids))
    from (select distinct u.queue from unnest(v_found) u) f;
    v_done := tock.change_waiting(array(select f from unnest(v_found) f where f.state = 'waiting'), v_changes);
    v_replaced := tock.supersede(array(select f from unnest(v_found) f where f.state = 'ready'), v_changes);
    perform tock.amend(array(
      select f from unnest(v_found) f
      where f.state = 'running' or f.current_id = any (v_done)
        or f.current_id in (select r.current_id from unnest(v_replaced) r)), v_changes);
    if v_changes ? 'run_at' and pg_catalog.cardinality(v_done) > 0 then
      perform tock.give_up_turns(v_done);
    end if;
    -- a replacement holds where its original didn't start, or is running still; what has gone on is changed anew
    v_now := array(select w from tock.whereabouts(array(
      select f.task_id from unnest(v_found) f where f.state in ('ready', 'running'))) w);
    v_ids := array(
      select f.task_id from unnest(v_found) f
      left join unnest(v_replaced) r on r.current_id = f.current_id
      left join unnest(v_now) w on w.task_id = f.task_id
      where case f.state when 'waiting' then f.current_id <> all (v_done)
        when 'ready' then r.n is null or w.current_id not in (r.n, f.current_id)
        when 'running' then w.current_id <> f.current_id else false end);
    return query
      select f.task_id, case when w.current_id = f.current_id then w.state else f.state end,
        case f.state when 'waiting' then true when 'ready' then w.state in ('ready', 'waiting', 'running')
          when 'running' then w.state = 'running' else false end
      from unnest(v_found) f left join unnest(v_now) w on w.task_id = f.task_id
      where f.task_id <> all (v_ids);
    if pg_catalog.cardinality(v_ids) = 0 then
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'some of these tasks are being changed by others', 'ids', 'try again');
end $$;

comment on function tock.change is
  'Changes priority, run_at (or delay_seconds) or payload of up to 10,000 tasks; of a running one, for its next attempt, if there is one (for the one after, where that is being decided on at that very moment). A row a task: the state it was found in, and whether this changed anything: not, when it had ended.';

create or replace function tock.reprioritize(p_ids bigint[], p_priority integer)
returns table (id bigint, state text, changed boolean)
language sql
volatile
as $$
  select c.id, c.state, c.changed from tock.change(p_ids, pg_catalog.jsonb_build_object('priority', p_priority)) c
$$;

comment on function tock.reprioritize is 'Gives tasks another priority, 0 (first) to 9: change() with plain arguments.';

create or replace function tock.reschedule(p_ids bigint[], p_run_at timestamptz)
returns table (id bigint, state text, changed boolean)
language sql
volatile
as $$
  select c.id, c.state, c.changed from tock.change(p_ids, pg_catalog.jsonb_build_object('run_at', p_run_at)) c
$$;

comment on function tock.reschedule is 'Lets tasks run at another time, now if that is past: change() with plain arguments.';
