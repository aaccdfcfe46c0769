create or replace function tock.tenants_of_key(p_key text)
returns text[]
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select k.tenants from tock.keys k where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'))
$$;

comment on function tock.tenants_of_key is 'The tenants that a key is for; null for all of them.';

create or replace function tock.queues_of_key(p_key text)
returns text[]
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select k.queues from tock.keys k where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'))
$$;

comment on function tock.queues_of_key is 'The queues that a key is for; null for all of them.';

-- All runs of a task are its tenant's. Where the epoch of the one that is asked for is gone, what it led on to says it.
create or replace function tock.tenant_of_task(p_id bigint)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_id bigint := p_id;
  v_epoch integer;
  v_found record;
begin
  if v_id & 1048575 = 0 then
    select w.tenant into v_found from tock.waiting w where w.position = p_id >> 20;
    if found then
      return v_found.tenant;
    end if;
    v_id := (select p.run_id from tock.promotions p where p.position = p_id >> 20);
  end if;
  v_epoch := tock.epoch_of(v_id >> 20);
  if v_epoch is not null then
    execute pg_catalog.format('select r.tenant from tock.runs_%s r where r.stream = $1 and r.position = $2', v_epoch)
      into v_found using (v_id & 1048575)::integer, v_id >> 20;
    return v_found.tenant;
  end if;
  return (select t.tenant from tock.task(p_id) t);
end $$;

comment on function tock.tenant_of_task is 'The tenant of a task; null when it has none, or is not there.';

create or replace function tock.reach(p_key text, p_id bigint)
returns bigint
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key record;
begin
  select k.tenants, k.queues into v_key from tock.keys k
  where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
  return case when (v_key.tenants is null or tock.tenant_of_task(p_id) = any (v_key.tenants))
    and (v_key.queues is null or tock.judged_queue(p_key, p_id) is not null) then p_id end;
end $$;

comment on function tock.reach is
  'This id, but null where a key is for some tenants and the task is of another, or for some tenants or queues and there is no such task.';

create or replace function tock.own_tenant(p_key text, p_tenant text)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants text[] := tock.tenants_of_key(p_key);
begin
  if v_tenants is null or p_tenant = any (v_tenants) then
    return p_tenant;
  elsif p_tenant is not null then
    perform tock.refuse(403, 'this key is not for that tenant', 'tenant',
      'use another; this one is for: ' || pg_catalog.array_to_string(v_tenants, ', '));
  elsif pg_catalog.cardinality(v_tenants) > 1 then
    perform tock.refuse(403, 'this key is for some tenants: name one', 'tenant',
      'it is for: ' || pg_catalog.array_to_string(v_tenants, ', '));
  end if;
  return v_tenants[1];
end $$;

comment on function tock.own_tenant is
  'The tenant that a key''s filter goes by: the only one that it is for, where none is named. TK403 names the field where it is another''s.';

-- In brackets, so to speak: two tenants can't come to one name, as theirs has no / left.
create or replace function tock.own_name(p_tenant text, p_name jsonb)
returns text
language sql
immutable
as $$
  select 'tenant:' || pg_catalog.replace(pg_catalog.replace(p_tenant, '~', '~0'), '/', '~1') || '/' || (p_name #>> '{}')
  where pg_catalog.jsonb_typeof(p_name) = 'string'
$$;

comment on function tock.own_name is 'The name that a tenant''s key gives a gate or a unique key: its own, which no other''s task meets.';

create or replace function tock.own_request_id(p_key text, p_request_id text)
returns text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
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

comment on function tock.own_request_id is 'A request id as it counts for a key: apart for keys of other tenants, so that none is given another''s ids.';

create or replace function tock.check_own_tasks(p_tenants text[], p_tasks jsonb)
returns void
language plpgsql
volatile
as $$
declare
  v_bad record;
begin
  select t.n, t.task ->> 'tenant' as tenant into v_bad
  from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
  where pg_catalog.jsonb_typeof(t.task) = 'object'
    and coalesce(t.task ->> 'tenant' <> all (p_tenants), pg_catalog.cardinality(p_tenants) > 1)
  order by t.n limit 1;
  if found then
    perform tock.refuse(403, case when v_bad.tenant is null then 'this key is for some tenants: name one'
        else 'this key is not for that tenant' end,
      pg_catalog.format('tasks[%s].tenant', v_bad.n - 1), 'it is for: ' || pg_catalog.array_to_string(p_tenants, ', '));
  end if;
  -- in the words for what isn't there
  select l.field, l.id into v_bad
  from (
    select t.n, a.m, pg_catalog.format('tasks[%s].after[%s]', t.n - 1, a.m - 1) as field, a.id
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)
    cross join lateral pg_catalog.jsonb_array_elements_text(
      case when pg_catalog.jsonb_typeof(t.task -> 'after') = 'array' then t.task -> 'after' else '[]' end)
      with ordinality a (id, m)
    union all
    select t.n, 0, pg_catalog.format('tasks[%s].parent', t.n - 1), t.task ->> 'parent'
    from pg_catalog.jsonb_array_elements(p_tasks) with ordinality t (task, n)) l
  where case when tock.is_id(l.id) then not coalesce(tock.tenant_of_task(l.id::bigint) = any (p_tenants), false) else false end
  order by l.n, l.m limit 1;
  if found then
    perform tock.refuse(422, pg_catalog.format('there is no task %s, or its history is gone', v_bad.id), v_bad.field);
  end if;
end $$;

comment on function tock.check_own_tasks is
  'Raises TK403 where tasks are of other tenants than these, and TK422 where they come after such, or are a part of one: as if it weren''t there.';

create or replace function tock.own_tasks(p_key text, p_body jsonb)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_tenants text[] := tock.tenants_of_key(p_key);
  v_tasks jsonb := coalesce(p_body -> 'tasks', pg_catalog.jsonb_build_array(p_body));
begin
  if v_tenants is null or pg_catalog.jsonb_typeof(v_tasks) <> 'array' then
    return p_body;
  end if;
  perform tock.check_own_tasks(v_tenants, v_tasks);
  v_tasks := (
    -- an array first: jsonb_agg() takes 11 s for an object of 300,000 keys, this 0.2 s
    select pg_catalog.to_jsonb(array(
      select case when pg_catalog.jsonb_typeof(t.task) <> 'object' then t.task
        else t.task || pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('tenant', o.tenant,
          'unique_key', tock.own_name(o.tenant, t.task -> 'unique_key'), 'gate', tock.own_name(o.tenant, t.task -> 'gate'))) end
      from pg_catalog.jsonb_array_elements(v_tasks) with ordinality t (task, n)
      cross join lateral (select coalesce(t.task ->> 'tenant', v_tenants[1]) as tenant) o
      order by t.n)));
  return case when p_body ? 'tasks' then p_body || pg_catalog.jsonb_build_object('tasks', v_tasks) else v_tasks -> 0 end;
end $$;

comment on function tock.own_tasks is
  'What a key enqueues, as it is for the key''s tenants: the only one is filled in, and gates and unique keys are theirs.';
