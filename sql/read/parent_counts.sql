-- A list has many tasks, and each may have 10,000 parents. So a call looks at 10,000 parents in all, and at
-- 2,000 for a key of some queues or tenants, because readable() costs more than the state of a parent.
create or replace function tock.parent_counts(p_ids bigint[], p_key text default null)
returns table (id bigint, parents integer, counts jsonb) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
declare
  v_limited boolean := tock.tenants_of_key(p_key) is not null or tock.queues_of_key(p_key) is not null;
  v_most integer := case when v_limited then 2000 else 10000 end;
  v_tasks bigint[];
  v_sizes integer[];
  v_lists jsonb[];  -- null for those beyond the bound
  v_places integer[];
  v_parents bigint[];
  v_ids bigint[];
  v_ends tock.resolved_task[];
begin
  if pg_catalog.cardinality(p_ids) > 1000 or pg_catalog.array_ndims(p_ids) > 1
    or pg_catalog.array_position(p_ids, null) is not null or p_ids is null
  then
    perform tock.refuse(422, 'ids must be up to 1,000 task ids', 'ids');
  end if;
  select pg_catalog.array_agg(s.id order by s.size, s.id), pg_catalog.array_agg(s.size order by s.size, s.id),
      pg_catalog.array_agg(case when s.upto <= v_most then s.list end order by s.size, s.id)
    into v_tasks, v_sizes, v_lists
  from (
    select l.*, sum(l.size) over (order by l.size, l.id) as upto
    from (
      select p_ids[r.n] as id, w.options -> 'depends_on' as list,
        pg_catalog.jsonb_array_length(w.options -> 'depends_on') as size
      from tock.resolve_tasks(p_ids) r join tock.waiting w on w.position = tock.position_of(r.current_id)
      where r.state = 'waiting' and w.due_after_parents is not null offset 0) l) s;
  select pg_catalog.array_agg(t.n), pg_catalog.array_agg(a.id::bigint) into v_places, v_parents
  from unnest(v_lists) with ordinality t (list, n)
  cross join lateral pg_catalog.jsonb_array_elements_text(t.list) a (id);
  v_ids := array(select distinct u from unnest(v_parents) u);
  if v_limited then
    v_ids := tock.readable(p_key, v_ids);
  end if;
  v_ends := array(select row(null, e.id, e.current_id, e.state, null)::tock.resolved_task
    from tock.final_states_of(v_ids, null) e);
  return query
    select t.id, coalesce(c.parents, case when v_lists[t.n] is not null then 0
        when not v_limited then v_sizes[t.n] end),
      case when v_lists[t.n] is not null then coalesce(c.counts, '{}') end
    from unnest(v_tasks) with ordinality t (id, n)
    left join (
      select s.n, sum(s.parents)::integer as parents,
        pg_catalog.jsonb_object_agg(s.state, s.parents) as counts
      from (
        select p.n, coalesce(e.state, 'gone') as state, count(*) as parents
        from unnest(v_places, v_parents) p (n, id)
        join unnest(v_ids) i (id) on i.id = p.id
        left join unnest(v_ends) e on e.task_id = p.id
        group by 1, 2) s
      group by s.n) c on c.n = t.n
    order by t.n;
end $$;

comment on function tock.parent_counts is
  'Of tasks that wait for others, up to 1,000: how many parents each has, and how many of these are in each '
  'state, such as {"done": 1372, "dead": 3}. A parent that was run again counts as its rerun. A call looks '
  'at up to 10,000 parents, those of tasks with few parents first; counts is null for the other tasks. With '
  'a key for some queues or tenants a call looks at 2,000 parents, and counts only those that the key may '
  'read.';
