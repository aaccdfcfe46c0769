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

-- The stored name of a concurrency key or unique key of a tenant, distinct from those of all other tenants.
-- The escaped tenant has no / left, so the names of two tenants cannot collide.
create or replace function tock.tenant_scoped_name(p_tenant text, p_name jsonb)
returns text language sql immutable as $$
  select 'tenant:' || pg_catalog.replace(pg_catalog.replace(p_tenant, '~', '~0'), '/', '~1') || '/'
    || (p_name #>> '{}')
  where pg_catalog.jsonb_typeof(p_name) = 'string'
$$;
