-- A mark is inserted without a lock of the stream, so a change left open in a transaction holds up
-- nobody but another change of the same task. Whoever finds that a task has gone on meanwhile looks again.
-- Of those who change and cancel a ready run one gets the key 'superseded': a cancelled one is replaced by
-- nothing (0). Both count from their commit: an attempt that is being decided on at that moment, unseen by the
-- second look, is the last that doesn't know of them, as the task's first run is marked too.
create or replace function tock.cancel(p_ids bigint[])
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
  v_found tock.whereabout[];
  v_waiting bigint[];
  v_stopped bigint[];
  v_marked bigint[] := '{}';
  v_now tock.whereabout[];
begin
  perform tock.plan_for(pg_catalog.cardinality(v_ids));
  for v_try in 1 .. 10 loop
    v_found := tock.each_task(v_ids);
    return query
      select f.task_id, f.state, false from unnest(v_found) f where f.state not in ('waiting', 'ready', 'running');
    v_found := array(select f from unnest(v_found) f where f.state in ('waiting', 'ready', 'running'));
    v_waiting := array(
      select w.position from tock.waiting w
      where w.position = any (array(select f.current_id >> 20 from unnest(v_found) f where f.state = 'waiting'))
      order by w.position for update);
    if pg_catalog.cardinality(v_waiting) > 0 then
      perform tock.make_ready(v_waiting, true);
    end if;
    with taken as (
      insert into tock.marks (stream, position, kind, other_id)
      select f.current_id & 1048575, f.current_id >> 20, 'superseded', 0 from unnest(v_found) f where f.state = 'ready'
      order by 2, 1
      on conflict do nothing
      returning position << 20 | stream as id)
    select array(select t.id from taken t
      union all select f.current_id from unnest(v_found) f where f.state = 'running'
      union all select p << 20 from unnest(v_waiting) p) into v_stopped;
    with marked as (
      insert into tock.marks (stream, position, kind)
      select distinct m.id & 1048575, m.id >> 20, 'cancelled'
      from unnest(v_found) f
      cross join lateral (
        select f.current_id where f.state <> 'waiting' union all select f.task_id where f.task_id <> f.current_id) m (id)
      where f.current_id = any (v_stopped)
        and exists (select from tock.epochs e where m.id >> 20 >= e.first_position and m.id >> 20 < e.end_position)
      order by 2, 1
      on conflict do nothing
      returning position << 20 | stream as id)
    select v_marked || array(select m.id from marked m) into v_marked;
    -- told as it is now: one may have started, ended, or gone on with another run meanwhile
    v_now := array(select w from tock.whereabouts(array(
      select f.task_id from unnest(v_found) f where f.current_id = any (v_stopped))) w);
    perform tock.parents_moved(array(select w.current_id from unnest(v_now) w));
    return query
      select f.task_id, w.state, w.state in ('cancelled', 'running') and (f.state = 'waiting' or f.current_id = any (v_marked))
      from unnest(v_found) f join unnest(v_now) w using (task_id)
      where f.state = 'waiting' or w.current_id = f.current_id;
    v_ids := array(
      select f.task_id from unnest(v_found) f left join unnest(v_now) w using (task_id)
      where f.current_id <> all (v_stopped) or f.state <> 'waiting' and w.current_id <> f.current_id);
    if pg_catalog.cardinality(v_ids) = 0 then
      return;
    end if;
  end loop;
  perform tock.refuse(503, 'some of these tasks are being changed by others', 'ids', 'try again');
end $$;

comment on function tock.cancel is
  'Cancels up to 10,000 tasks: waiting and ready ones never start (unless a claim that is under way has them); the worker of a running one is asked to stop (extend() says so) and it is not tried again (but once, where its attempt is ending at that very moment). A row a task: the state it is in, and whether this changed anything.';

-- A plan for arrays of any length compares 10,000 ids with 10,000 one by one (1.4 s of 2.4); one made for them
-- hashes them.
create or replace function tock.plan_for(p_ids integer)
returns void
language sql
volatile
as $$
  select pg_catalog.set_config('plan_cache_mode', case when p_ids > 100 then 'force_custom_plan' else 'auto' end, true)
$$;

comment on function tock.plan_for is 'Has the calling function, which sets plan_cache_mode, plan anew for many ids.';

create or replace function tock.check_ids(p_ids bigint[])
returns bigint[]
language plpgsql
immutable
as $$
begin
  if coalesce(pg_catalog.cardinality(p_ids), 0) not between 1 and 10000 or pg_catalog.array_ndims(p_ids) > 1
    or pg_catalog.array_position(p_ids, null) is not null
  then
    perform tock.refuse(422, 'ids are 1 to 10,000 ids of tasks', 'ids');
  end if;
  return array(select distinct i from unnest(p_ids) i order by i);
end $$;

comment on function tock.check_ids is 'The ids, each once, in order: a request id''s digest is made of them, and no plan may decide it. TK422 when they are none or too many.';

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
