create or replace function tock.create_key(p_name text, p_scopes text[], p_queues text[] default null)
returns table (key text, prefix text, name text, scopes text[], queues text[], created_at timestamptz)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_random text := pg_catalog.replace(pg_catalog.gen_random_uuid()::text || pg_catalog.gen_random_uuid()::text, '-', '');
  v_prefix text := 'tock_' || pg_catalog.left(v_random, 8);
  v_key text := v_prefix || '_' || pg_catalog.substr(v_random, 9);
  v_queue text;
begin
  if p_name is null or pg_catalog.length(p_name) not between 1 and 100 then
    perform tock.refuse(422, 'a key''s name is 1 to 100 characters', 'name');
  end if;
  if coalesce(pg_catalog.cardinality(p_scopes), 0) = 0 or pg_catalog.array_ndims(p_scopes) > 1
    or not p_scopes <@ array['enqueue', 'claim', 'read', 'admin']
  then
    perform tock.refuse(422, 'scopes are one or more of enqueue, claim, read, admin', 'scopes');
  end if;
  if pg_catalog.cardinality(p_queues) = 0 or pg_catalog.array_ndims(p_queues) > 1 then
    perform tock.refuse(422, 'queues are one or more names, or left out for all', 'queues');
  end if;
  foreach v_queue in array coalesce(p_queues, '{}') loop
    perform tock.check_queue_name(v_queue);
  end loop;
  insert into tock.keys (prefix, hash, name, scopes, queues)
    values (v_prefix, pg_catalog.sha256(v_key::bytea), p_name, p_scopes, p_queues);
  return query select v_key, k.prefix, k.name, k.scopes, k.queues, k.created_at
    from tock.keys k where k.prefix = v_prefix;
end $$;

comment on function tock.create_key is
  'Makes a key with scopes (enqueue, claim, read, admin) for all queues or those named. The key itself is shown this once; only its hash is kept.';

create or replace function tock.keys_list()
returns table (prefix text, name text, scopes text[], queues text[], created_at timestamptz, revoked_at timestamptz)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select k.prefix, k.name, k.scopes, k.queues, k.created_at, k.revoked_at from tock.keys k order by k.created_at
$$;

comment on function tock.keys_list is 'All keys but for their secret part.';

create or replace function tock.revoke_key(p_prefix text)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  update tock.keys k set revoked_at = coalesce(k.revoked_at, pg_catalog.now()) where k.prefix = p_prefix;
  return found;
end $$;

comment on function tock.revoke_key is 'Ends a key at once; false when there is none with this prefix.';

create or replace function tock.lets_in(p_key text, p_scope text, p_queue text)
returns boolean
language plpgsql
stable
as $$
declare
  -- a few keys are read one by one, and this is most of what that costs
  v_hash bytea := pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
begin
  return (select k.revoked_at is null and p_scope = any (k.scopes) and (k.queues is null or p_queue = any (k.queues))
    from tock.keys k where k.hash = v_hash);
end $$;

comment on function tock.lets_in is
  'True when a key has a scope for a queue, * for all of them. Whoever hears anything else asks authorize(), which says why, or knows of a queue that isn''t there.';

create or replace function tock.authorize(p_key text, p_scope text, p_queue text default null)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_key tock.keys;
begin
  if tock.lets_in(p_key, p_scope, p_queue) then
    return true;
  end if;
  select k.* into v_key from tock.keys k
  where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8')) and k.revoked_at is null;
  if not found then
    perform tock.refuse(401, 'this key is not known', 'Authorization', 'send Authorization: Bearer with a key from: tock key create');
  elsif p_scope is null or not p_scope = any (v_key.scopes) then
    perform tock.refuse(403, 'this key has no scope ' || coalesce(p_scope, 'null'), 'Authorization', 'use one that has it; this one has: ' || pg_catalog.array_to_string(v_key.scopes, ', '));
  elsif v_key.queues is not null and p_queue = '*' then
    perform tock.refuse(403, 'this concerns all queues, and this key is for some', 'Authorization',
      'use a key made without naming queues');
  elsif v_key.queues is not null and p_queue is not null and not p_queue = any (v_key.queues) then
    perform tock.refuse(403, 'this key is not for that queue', 'Authorization',
      'use another; this one is for: ' || pg_catalog.array_to_string(v_key.queues, ', '));
  end if;
  return true;
end $$;

comment on function tock.authorize is
  'True when a key has a scope, for a queue if one is named; else raises TK401 or TK403.';
