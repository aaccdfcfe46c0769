-- The options of a task with the ids of its parents. p_ids has the ids of all tasks of the call, in order.
-- p_names maps the name of a task to its id.
create or replace function tock.with_parents(
  p_options jsonb, p_after jsonb, p_n bigint, p_ids bigint[], p_names jsonb)
returns jsonb language sql immutable as $$
  select p_options || pg_catalog.jsonb_build_object(
    'depends_on', coalesce(pg_catalog.jsonb_agg(d.id order by d.m, d.k), '[]'))
    || case when p_options ? 'include_results' and pg_catalog.count(d.name) > 0
      then pg_catalog.jsonb_build_object('names', pg_catalog.jsonb_object_agg(d.id, d.name)
        filter (where d.name is not null))
      else '{}' end
  from (
    select f.id, min(f.m) as m, min(f.k) as k, min(f.name) as name
    from (
      select coalesce(p_names ->> a.id, a.id) as id, a.m, 0 as k,
        case when p_names ? a.id then a.id end as name
      from pg_catalog.jsonb_array_elements_text(p_after) with ordinality a (id, m) where a.id <> '*'
      union all
      select p_ids[k]::text, a.m, k, n.name
      from pg_catalog.jsonb_array_elements_text(p_after) with ordinality a (id, m)
      cross join pg_catalog.generate_series(1, p_n - 1) k
      left join pg_catalog.jsonb_each_text(
        case when p_options ? 'include_results' and p_after ? '*' then p_names else '{}' end)
        n (name, id) on n.id = p_ids[k]::text
      where a.id = '*') f
    group by f.id) d
$$;
