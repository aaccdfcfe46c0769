-- For ids of tasks or runs, with n in their order: the id of the task, the id of its newest run or waiting
-- row, its state and its queue. Unknown ids are left out. The state of a task is that of the last link of its
-- chain: its newest run, or its waiting task. All ids are followed at once, step by step. TK421 for an id of
-- another node.
create or replace function tock.resolve_tasks(p_ids bigint[])
returns setof tock.resolved_task language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_open tock.resolved_task[] := array(
    select row(i.n, i.id, i.id, null, null)::tock.resolved_task from unnest(p_ids) with ordinality i (id, n));
  v_here tock.resolved_task[];
  v_segment tock.segments;
  v_existing_count integer;
  v_step tock.resolved_task[];
  v_next tock.resolved_task[];
begin
  while pg_catalog.cardinality(v_open) > 0 loop
    -- A promotion moves a row from tock.waiting to tock.promotions. One statement reads both, so that its
    -- snapshot shows the row in one of them.
    v_step := array(
      select row(s.n, coalesce(w.task_id, s.task_id), coalesce(p.run_id, s.current_id),
        case when p.run_id is null then
        case when (w.options ->> 'expires_at')::timestamptz <= pg_catalog.clock_timestamp() then 'expired'
          else 'waiting' end end,
        w.queue)::tock.resolved_task
      from unnest(v_open) s
      left join tock.waiting w on w.position = any (array[tock.position_of(s.current_id)])
      left join tock.promotions p on p.position = any (array[tock.position_of(s.current_id)])
      where tock.stream_of(s.current_id) = 0 and (w.position is not null or p.position is not null));
    v_existing_count := pg_catalog.cardinality(v_step);
    return query select s.* from unnest(v_step) s where s.state is not null;
    v_next := array(select s from unnest(v_step) s where s.state is null);
    v_here := array(select o from unnest(v_open) o where tock.stream_of(o.current_id) <> 0);
    for v_segment in
      select e.* from tock.segments e
      where e.end_position > (select min(tock.position_of(o.current_id)) from unnest(v_here) o)
        and e.first_position <= (select max(tock.position_of(o.current_id)) from unnest(v_here) o)
    loop
      v_step := array(
        select o from unnest(v_here) o
        where tock.position_of(o.current_id) >= v_segment.first_position
          and tock.position_of(o.current_id) < v_segment.end_position);
      continue when pg_catalog.cardinality(v_step) = 0;
      v_existing_count := v_existing_count + pg_catalog.cardinality(v_step);
      execute pg_catalog.format('select array(select w from tock.follow_runs_%s($1) w)', v_segment.number)
        into v_step using v_step;
      return query select s.* from unnest(v_step) s where s.state is not null;
      v_next := v_next || array(select s from unnest(v_step) s where s.state is null);
    end loop;
    if v_existing_count < pg_catalog.cardinality(v_open) then
      perform tock.refuse_foreign_ids(array(select o.current_id from unnest(v_open) o), 'id');
      -- the segment of these runs was dropped; tock.promotions may say how their tasks continued
      v_next := v_next || array(
        select row(o.n, o.task_id, p.run_id, null, null)::tock.resolved_task
        from unnest(v_here) o
        join tock.promotions p on p.position = any (array[tock.position_of(o.current_id)])
        where tock.segment_of(tock.position_of(o.current_id)) is null);
    end if;
    v_open := v_next;
  end loop;
end $$;

-- resolve_tasks() with one row per task, in the order of the newest runs and waiting rows. Two ids of one
-- task may be resolved in two steps, between which the task may continue: then the later link counts.
create or replace function tock.resolve_each_task(p_ids bigint[])
returns tock.resolved_task[] language plpgsql volatile as $$
begin
  return array(
    select t.w from (
      select distinct on (w.task_id) w from tock.resolve_tasks(p_ids) w
      order by w.task_id, tock.position_of(w.current_id) desc) t
    order by (t.w).current_id);
end $$;

-- Raises TK421, or p_status, for an id of another node. Ids of the present range are not looked up.
create or replace function tock.refuse_foreign_ids(
  p_ids bigint[], p_field text, p_status integer default 421)
returns void language plpgsql stable as $$
declare
  v_id bigint;
begin
  for v_id in
    select min(i) from unnest(p_ids) i where i >> 53 <> (select s.last_value >> 33 from tock.positions s)
    group by i >> 53 order by 1
  loop
    perform tock.on_not_found(':' || (v_id >> 53), 'task ' || v_id, p_field, p_status);
  end loop;
end $$;

-- The distinct ids in order, so that the digest of a request does not depend on a plan. TK422 for no ids or
-- too many.
create or replace function tock.check_ids(p_ids bigint[])
returns bigint[] language plpgsql immutable as $$
begin
  if coalesce(pg_catalog.cardinality(p_ids), 0) not between 1 and 10000 or pg_catalog.array_ndims(p_ids) > 1
    or pg_catalog.array_position(p_ids, null) is not null
  then
    perform tock.refuse(422, 'ids must be 1 to 10,000 task ids', 'ids');
  end if;
  return array(select distinct i from unnest(p_ids) i order by i);
end $$;

-- The id of the task of a run or of a promoted waiting row; p_id itself for the id of a task.
create or replace function tock.first_id(p_id bigint)
returns bigint language plpgsql stable as $$
begin
  return coalesce((
    select r.task_id from tock.stored_runs(array[case when tock.stream_of(p_id) <> 0 then p_id
      else (select p.run_id from tock.promotions p where p.position = tock.position_of(p_id)) end]) r), p_id);
end $$;

-- Makes the calling function, which sets plan_cache_mode, use custom plans for many ids. For 10,000 ids, a
-- generic plan compares each id with each row, which took 1.4 s of the 2.4 s of a call. A custom plan hashes
-- them.
create or replace function tock.plan_for(p_ids integer)
returns void language sql volatile as $$
  select pg_catalog.set_config('plan_cache_mode', case when p_ids > 100 then 'force_custom_plan'
    else 'auto' end, true)
$$;
