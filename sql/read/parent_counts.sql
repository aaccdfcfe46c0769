-- A list has many tasks, and each may have 10,000 parents. So a call looks at 10,000 parents in all, and at
-- 2,000 for a key of some queues or tenants, because readable() costs more than the state of a parent.
create or replace function tock.parent_counts(p_ids bigint[], p_key text default null)
returns table (id bigint, parents integer, counts jsonb) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_limited boolean := coalesce(tock.tenants_of_key(p_key), tock.queues_of_key(p_key)) is not null;
  v_most integer := case when v_limited then 2000 else 10000 end;
  v_tasks bigint[];
  v_lists jsonb[];  -- their parents; the shortest list is the first
  v_counted integer;
  v_ids bigint[];
  v_ends tock.resolved_task[];
begin
  if p_ids is null or pg_catalog.cardinality(p_ids) > 1000 or pg_catalog.array_ndims(p_ids) > 1
    or pg_catalog.array_position(p_ids, null) is not null
  then
    perform tock.refuse(422, 'ids must be up to 1,000 task ids', 'ids');
  end if;
  select pg_catalog.array_agg(w.id order by w.n), pg_catalog.array_agg(w.list order by w.n),
      count(*) filter (where w.upto <= v_most)
    into v_tasks, v_lists, v_counted
  from (
    select l.*, row_number() over by_size as n, sum(l.size) over by_size as upto
    from (
      select p_ids[r.n] as id, w.options -> 'depends_on' as list,
        pg_catalog.jsonb_array_length(w.options -> 'depends_on') as size
      from tock.resolve_tasks(p_ids) r
      join tock.waiting w on w.position = any (array[tock.position_of(r.current_id)])
      where r.state = 'waiting' and w.due_after_parents is not null offset 0) l
    window by_size as (order by l.size, l.id)) w;
  v_ids := tock.readable(p_key, array(
    select distinct a.id::bigint
    from unnest(v_lists[:v_counted]) l cross join lateral pg_catalog.jsonb_array_elements_text(l) a (id)));
  v_ends := array(
    select row(null, i.id, null, coalesce(e.state, 'gone'), null)::tock.resolved_task
    from unnest(v_ids) i (id) left join tock.final_states_of(v_ids, null) e on e.id = i.id);
  return query
    select t.id, coalesce(c.parents, case when not v_limited then pg_catalog.jsonb_array_length(t.list) end),
      c.counts
    from unnest(v_tasks, v_lists) with ordinality t (id, list, n)
    left join (
      select s.n, sum(s.tasks)::integer as parents, pg_catalog.jsonb_object_agg(s.state, s.tasks) as counts
      from (
        select l.n, e.state, count(*) as tasks
        from unnest(v_lists[:v_counted]) with ordinality l (list, n)
        cross join lateral pg_catalog.jsonb_array_elements_text(l.list) a (id)
        join unnest(v_ends) e on e.task_id = a.id::bigint
        group by l.n, e.state) s
      group by s.n) c on c.n = t.n
    order by t.n;
end $$;

comment on function tock.parent_counts is
  'Of tasks that wait for others, up to 1,000: how many parents each has, and how many of these are in each '
  'state, such as {"done": 1372, "dead": 3}. A parent that was run again counts as its rerun. A call looks '
  'at up to 10,000 parents, those of tasks with few parents first; counts is null for the other tasks. With '
  'a key for some queues or tenants a call looks at 2,000 parents, and counts only those that the key may '
  'read.';
