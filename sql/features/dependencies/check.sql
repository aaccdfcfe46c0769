-- Raises TK422 unless all parents of the tasks of a call exist: names in the call without a cycle, * for all
-- tasks before it, or ids. A parent named in depends_on may stand anywhere in the call. A parent given by id
-- must exist before the call.
create or replace function tock.check_parents_of_call(p_tasks jsonb)
returns void language plpgsql volatile as $$
declare
  v_names jsonb;
  v_bad record;
  v_ids bigint[];
  v_known bigint[];
  v_children integer[];
  v_parents integer[];
begin
  if not (pg_catalog.jsonb_path_exists(p_tasks, '$[*].depends_on[*]')
    or pg_catalog.jsonb_path_exists(p_tasks, '$[*].name'))
  then
    return;
  end if;
  select n.n into v_bad
  from (
    select t.n, row_number() over (partition by t.task ->> 'name' order by t.n) as times
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
    where t.task ->> 'name' is not null) n
  where n.times > 1 order by n.n limit 1;
  if found then
    perform tock.refuse(422,
      pg_catalog.format('the name %s is used twice in this call',
        p_tasks -> (v_bad.n::integer - 1) ->> 'name'),
      pg_catalog.format('tasks[%s].name', v_bad.n - 1));
  end if;
  v_names := (
    select coalesce(pg_catalog.jsonb_object_agg(t.task ->> 'name', t.n), '{}')
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
    where t.task ->> 'name' is not null);
  if pg_catalog.jsonb_path_exists(p_tasks, '$[*].unique_key ? (@ != null)') then
    perform tock.refuse_named_keys(p_tasks, 'tasks');
  end if;

  -- one row for each entry of depends_on; n_bad is true for a name that no task of the call has
  select e.child, e.m, e.id, e.n_bad into v_bad
  from (
    select a.*, sum(case a.id when '*' then a.child - 1 else 1 end) over (order by a.child, a.m) as edges,
      case when tock.is_id(a.id) or a.id = '*' then null when v_names ? a.id then null else true end as n_bad
    from (
      select t.n as child, l.m, l.id
      from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
      cross join lateral pg_catalog.jsonb_array_elements_text(
        t.task -> 'depends_on') with ordinality l (id, m)
      where pg_catalog.jsonb_typeof(t.task -> 'depends_on') = 'array') a) e
  where e.n_bad or e.edges > 100000
  order by e.child, e.m limit 1;
  if found and v_bad.n_bad then
    perform tock.refuse(422, pg_catalog.format('no task of this call is named %s', v_bad.id),
      pg_catalog.format('tasks[%s].depends_on[%s]', v_bad.child - 1, v_bad.m - 1));
  elsif found then
    perform tock.refuse(422, 'the tasks of one call may have up to 100,000 parents in all',
      pg_catalog.format('tasks[%s].depends_on', v_bad.child - 1), 'split it into several calls');
  end if;

  v_ids := array(
    select distinct l.id::bigint from pg_catalog.jsonb_array_elements(p_tasks) t (task)
    cross join lateral pg_catalog.jsonb_array_elements_text(t.task -> 'depends_on') l (id)
    where pg_catalog.jsonb_typeof(t.task -> 'depends_on') = 'array' and tock.is_id(l.id));
  if v_ids <> '{}' then
    perform tock.refuse_foreign_ids(v_ids, 'depends_on', 422);
    v_known := array(select v_ids[w.n] from tock.resolve_tasks(v_ids) w);
    if pg_catalog.cardinality(v_known) < pg_catalog.cardinality(v_ids) then
      select t.n, l.m, l.id into v_bad
      from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
      cross join lateral pg_catalog.jsonb_array_elements_text(
        t.task -> 'depends_on') with ordinality l (id, m)
      where pg_catalog.jsonb_typeof(t.task -> 'depends_on') = 'array' and tock.is_id(l.id)
        and l.id::bigint <> all (v_known)
      order by t.n, l.m limit 1;
      perform tock.refuse(422, pg_catalog.format('task %s does not exist, or its history is gone', v_bad.id),
        pg_catalog.format('tasks[%s].depends_on[%s]', v_bad.n - 1, v_bad.m - 1));
    end if;
  end if;

  select pg_catalog.array_agg(e.child order by e.parent), pg_catalog.array_agg(e.parent order by e.parent)
    into v_children, v_parents
  from (
    select t.n::integer as child, p.parent::integer as parent
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
    cross join lateral pg_catalog.jsonb_array_elements_text(t.task -> 'depends_on') l (id)
    cross join lateral (
      select (v_names ->> l.id)::integer where l.id <> '*' and not tock.is_id(l.id)
      union all
      select pg_catalog.generate_series(1, t.n - 1) where l.id = '*') p (parent)
    where pg_catalog.jsonb_typeof(t.task -> 'depends_on') = 'array') e;
  perform tock.refuse_cycle(v_children, v_parents, pg_catalog.jsonb_array_length(p_tasks));
end $$;
