create or replace function tock.own_request_id(p_key text, p_request_id text)
returns text language plpgsql stable security definer
set search_path = pg_catalog, pg_temp as $$
declare
  v_tenants text[] := tock.tenants_of_key(p_key);
begin
  if v_tenants is null or p_request_id is null then
    return p_request_id;
  end if;
  v_tenants := array(select distinct t from unnest(v_tenants) t order by t);
  return 'tenants:' || pg_catalog.encode(pg_catalog.sha256(pg_catalog.convert_to(
    pg_catalog.jsonb_build_array(v_tenants, p_request_id)::text, 'UTF8')), 'hex');
end $$;

comment on function tock.own_request_id is
  'A request id in the namespace of the tenants of a key, so that no key gets the ids of other tenants.';

-- The tasks that a key enqueues, restricted to its tenants: a single tenant is filled in, and concurrency
-- keys and unique keys get the name of the tenant. TK403 for a task of another tenant, TK422 for a parent of
-- another tenant, as for one that does not exist.
create or replace function tock.own_tasks(p_key text, p_body jsonb)
returns jsonb language plpgsql volatile as $$
declare
  v_tenants text[] := tock.tenants_of_key(p_key);
  v_tasks jsonb := coalesce(p_body -> 'tasks', pg_catalog.jsonb_build_array(p_body));
  v_bad record;
begin
  if v_tenants is null or pg_catalog.jsonb_typeof(v_tasks) <> 'array' then
    return p_body;
  end if;
  select t.n, t.task ->> 'tenant' as tenant into v_bad
  from pg_catalog.jsonb_array_elements(v_tasks) with ordinality t (task, n)
  where pg_catalog.jsonb_typeof(t.task) = 'object'
    and coalesce(t.task ->> 'tenant' <> all (v_tenants), pg_catalog.cardinality(v_tenants) > 1)
  order by t.n limit 1;
  if found then
    perform tock.refuse(403, case when v_bad.tenant is null
        then 'this key is for several tenants: name one of them'
        else 'this key is not for that tenant' end,
      pg_catalog.format('tasks[%s].tenant', v_bad.n - 1),
      'the key is for: ' || pg_catalog.array_to_string(v_tenants, ', '));
  end if;
  -- the same message as for a task that does not exist
  select l.field, l.id into v_bad
  from (
    select t.n, a.m, pg_catalog.format('tasks[%s].depends_on[%s]', t.n - 1, a.m - 1) as field, a.id
    from pg_catalog.jsonb_array_elements(v_tasks) with ordinality t (task, n)
    cross join lateral pg_catalog.jsonb_array_elements_text(
      case when pg_catalog.jsonb_typeof(t.task -> 'depends_on') = 'array'
        then t.task -> 'depends_on' else '[]' end)
      with ordinality a (id, m)
    union all
    select t.n, 0, pg_catalog.format('tasks[%s].parent', t.n - 1), t.task ->> 'parent'
    from pg_catalog.jsonb_array_elements(v_tasks) with ordinality t (task, n)) l
  where case when tock.is_id(l.id)
    then not coalesce((tock.rights_of_task(l.id::bigint)).tenant = any (v_tenants), false) else false end
  order by l.n, l.m limit 1;
  if found then
    perform tock.refuse(422, pg_catalog.format('task %s does not exist, or its history is gone', v_bad.id),
      v_bad.field);
  end if;
  v_tasks := (
    -- through an array: jsonb_agg() takes 11 s for an object of 300,000 keys, this 0.2 s
    select pg_catalog.to_jsonb(array(
      select case when pg_catalog.jsonb_typeof(t.task) <> 'object' then t.task
        else t.task || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('tenant', o.tenant,
          'unique_key', tock.tenant_scoped_name(o.tenant, t.task -> 'unique_key'), 'concurrency_key',
          tock.tenant_scoped_name(o.tenant, t.task -> 'concurrency_key'))) end
      from pg_catalog.jsonb_array_elements(v_tasks) with ordinality t (task, n)
      cross join lateral (select coalesce(t.task ->> 'tenant', v_tenants[1]) as tenant) o
      order by t.n)));
  return case when p_body ? 'tasks' then p_body || pg_catalog.jsonb_build_object('tasks', v_tasks)
    else v_tasks -> 0 end;
end $$;
