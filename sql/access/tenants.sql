create or replace function tock.tenants_of_key(p_key text)
returns text[] language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select k.tenants from tock.keys k where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'))
$$;

comment on function tock.tenants_of_key is 'The tenants of a key; null for all.';

create or replace function tock.queues_of_key(p_key text)
returns text[] language sql stable security definer
set search_path = pg_catalog, pg_temp as $$
  select k.queues from tock.keys k where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'))
$$;

comment on function tock.queues_of_key is 'The queues of a key; null for all.';

-- All runs of a task have the same tenant. If the segment of the run was dropped, task() finds it through its
-- successor.
create or replace function tock.tenant_of_task(p_id bigint)
returns text language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_id bigint := p_id;
  v_segment integer;
  v_task record;
begin
  if tock.stream_of(v_id) = 0 then
    select w.tenant into v_task from tock.waiting w where w.position = tock.position_of(p_id);
    if found then
      return v_task.tenant;
    end if;
    v_id := (select p.run_id from tock.promotions p where p.position = tock.position_of(p_id));
  end if;
  v_segment := tock.segment_of(tock.position_of(v_id));
  if v_segment is not null then
    execute pg_catalog.format('select r.tenant from tock.runs_%s r where r.stream = $1 and r.position = $2',
      v_segment)
      into v_task using tock.stream_of(v_id), tock.position_of(v_id);
    return v_task.tenant;
  end if;
  return (select t.tenant from tock.task(p_id) t);
end $$;

comment on function tock.tenant_of_task is
  'The tenant of a task; null if it has none, or if there is no such task.';

create or replace function tock.visible_task(p_key text, p_id bigint)
returns bigint language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_key record;
begin
  select k.tenants, k.queues into v_key from tock.keys k
  where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
  return case when (v_key.tenants is null or tock.tenant_of_task(p_id) = any (v_key.tenants))
    and (v_key.queues is null or tock.queue_for_authorization(p_key, p_id) is not null) then p_id end;
end $$;

comment on function tock.visible_task is
  'This id; null if the key is for some tenants and the task is of another one, or if the key is restricted '
  'and there is no such task.';

create or replace function tock.own_tenant(p_key text, p_tenant text)
returns text language plpgsql stable security definer
set search_path = pg_catalog, pg_temp as $$
declare
  v_tenants text[] := tock.tenants_of_key(p_key);
begin
  if v_tenants is null or p_tenant = any (v_tenants) then
    return p_tenant;
  elsif p_tenant is not null then
    perform tock.refuse(403, 'this key is not for that tenant', 'tenant',
      'use another key; this one is for: ' || pg_catalog.array_to_string(v_tenants, ', '));
  elsif pg_catalog.cardinality(v_tenants) > 1 then
    perform tock.refuse(403, 'this key is for several tenants: name one of them', 'tenant',
      'the key is for: ' || pg_catalog.array_to_string(v_tenants, ', '));
  end if;
  return v_tenants[1];
end $$;

comment on function tock.own_tenant is
  'The tenant of a filter for a key: the only tenant of the key if the filter has none. TK403 for a tenant '
  'of another key.';

-- The escaped tenant has no / left, so the names of two tenants cannot collide.
create or replace function tock.tenant_scoped_name(p_tenant text, p_name jsonb)
returns text language sql immutable as $$
  select 'tenant:' || pg_catalog.replace(pg_catalog.replace(p_tenant, '~', '~0'), '/', '~1') || '/'
    || (p_name #>> '{}')
  where pg_catalog.jsonb_typeof(p_name) = 'string'
$$;

comment on function tock.tenant_scoped_name is
  'The stored name of a concurrency key or unique key of a tenant, distinct from those of all other tenants.';
