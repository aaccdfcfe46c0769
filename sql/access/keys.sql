create or replace function tock.keys_list(p_prefix text default null)
returns table (
  prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer,
  rate_seconds integer, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, replaces text,
  replaced_by text, last_used_at timestamptz, uses bigint) language sql
stable security definer
set search_path = pg_catalog, pg_temp as $$
  select k.prefix, k.name, k.scopes, k.queues, k.tenants, k.rate_limit, k.rate_seconds,
    k.created_at, k.expires_at, k.revoked_at, k.replaces,
    (select r.prefix from tock.keys r where r.replaces = k.prefix and r.revoked_at is null),
    u.last_used_at, coalesce(u.uses, 0)
  from tock.keys k left join tock.key_uses u on u.prefix = k.prefix
  where p_prefix is null or k.prefix = p_prefix
  order by k.created_at
$$;

comment on function tock.keys_list is
  'All keys, or the one with a prefix, without their secret. A maintenance job updates last_used_at and '
  'uses about once a minute.';

-- Makes the sequences that count the uses of a key, and its requests in a window of its rate. Sequences
-- count, because nextval() waits for no transaction and leaves nothing for vacuum. They are unlogged, so that
-- a count writes no WAL and a claim stays its whole transaction. A crash resets them.
create or replace function tock.make_key_counters(p_prefix text, p_rated boolean)
returns void language plpgsql volatile as $$
begin
  execute pg_catalog.format('create unlogged sequence if not exists tock.%I cache 1',
    'uses_' || pg_catalog.substr(p_prefix, 6));
  if p_rated then
    execute pg_catalog.format('create unlogged sequence if not exists tock.%I cache 1',
      'rate_' || pg_catalog.substr(p_prefix, 6));
  end if;
end $$;

-- Stores a key with these properties under a new prefix and hash, with its counters; returns the secret. No
-- other function makes a secret.
create or replace function tock.insert_key(p_key tock.keys)
returns text language plpgsql volatile as $$
declare
  v_random text := pg_catalog.replace(pg_catalog.gen_random_uuid()::text
    || pg_catalog.gen_random_uuid()::text, '-', '');
  v_prefix text := 'tock_' || pg_catalog.left(v_random, 8);
  v_key text := v_prefix || '_' || pg_catalog.substr(v_random, 9);
begin
  insert into tock.keys (prefix, hash, name, scopes, queues, tenants, expires_at, lifetime, rate_limit,
    rate_seconds, replaces)
    values (v_prefix, pg_catalog.sha256(v_key::bytea), p_key.name, p_key.scopes, p_key.queues, p_key.tenants,
      p_key.expires_at, p_key.lifetime, p_key.rate_limit, p_key.rate_seconds, p_key.replaces);
  insert into tock.key_uses (prefix) values (v_prefix);
  perform tock.make_key_counters(v_prefix, p_key.rate_limit is not null);
  return v_key;
end $$;

-- The expiry of a key from one of the two arguments; TK422 for an invalid one, null for none.
create or replace function tock.expiry_of(p_expires_at timestamptz, p_expires_in_seconds double precision)
returns timestamptz language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
begin
  if p_expires_at is not null and p_expires_in_seconds is not null then
    perform tock.refuse(422, 'give expires_in_seconds or expires_at, not both', 'expires_in_seconds');
  elsif p_expires_in_seconds not between 1 and 315360000 then
    perform tock.refuse(422, 'expires_in_seconds must be a number from 1 to 315360000 (ten years)',
      'expires_in_seconds');
  elsif p_expires_at <= v_now or p_expires_at > v_now + interval '3650 days' then
    perform tock.refuse(422, 'expires_at must be in the next ten years', 'expires_at',
      'use revoke_key() to end a key at once');
  end if;
  return coalesce(p_expires_at, v_now + p_expires_in_seconds * interval '1 second');
end $$;

-- Raises TK422 for an invalid key.
create or replace function tock.check_key(p_key tock.keys)
returns void language plpgsql volatile as $$
declare
  v_queue text;
begin
  if p_key.name is null or pg_catalog.length(p_key.name) not between 1 and 100 then
    perform tock.refuse(422, 'a key name must have 1 to 100 characters', 'name');
  elsif coalesce(pg_catalog.cardinality(p_key.scopes), 0) = 0 or pg_catalog.array_ndims(p_key.scopes) > 1
    or not p_key.scopes <@ array['enqueue', 'claim', 'read', 'admin']
  then
    perform tock.refuse(422, 'scopes must be one or more of enqueue, claim, read, admin', 'scopes');
  elsif pg_catalog.cardinality(p_key.queues) = 0 or pg_catalog.array_ndims(p_key.queues) > 1 then
    perform tock.refuse(422, 'queues must be one or more names, or left out for all', 'queues');
  elsif pg_catalog.cardinality(p_key.tenants) not between 1 and 100
    or pg_catalog.array_ndims(p_key.tenants) > 1
    or exists (select from unnest(p_key.tenants) t
      where t is null or pg_catalog.length(t) not between 1 and 200)
  then
    perform tock.refuse(422, 'tenants must be 1 to 100 strings of 1 to 200 characters, or left out for all',
      'tenants');
  elsif p_key.tenants is not null and not p_key.scopes <@ array['enqueue', 'read'] then
    perform tock.refuse(422,
      'a key for some tenants can only have the scopes enqueue and read: claim and admin concern all '
      'tenants',
      'scopes', 'leave out claim and admin, or tenants');
  elsif (p_key.rate_limit is null) <> (p_key.rate_seconds is null) then
    perform tock.refuse(422, 'rate_limit and rate_seconds must be set together',
      case when p_key.rate_limit is null then 'rate_limit' else 'rate_seconds' end);
  elsif p_key.rate_limit not between 1 and 1000000 then
    perform tock.refuse(422, 'rate_limit must be a whole number from 1 to 1000000', 'rate_limit');
  elsif p_key.rate_seconds not between 1 and 86400 then
    perform tock.refuse(422, 'rate_seconds must be a whole number from 1 to 86400', 'rate_seconds');
  end if;
  foreach v_queue in array coalesce(p_key.queues, '{}') loop
    perform tock.check_queue_name(v_queue);
  end loop;
end $$;

create or replace function tock.create_key(
  p_name text, p_scopes text[], p_queues text[] default null, p_tenants text[] default null,
  p_expires_at timestamptz default null, p_expires_in_seconds double precision default null,
  p_rate_limit integer default null, p_rate_seconds integer default null)
returns table (
  key text, prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer,
  rate_seconds integer, created_at timestamptz, expires_at timestamptz, replaces text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  v_row tock.keys;
  v_key text;
begin
  v_row.name := p_name;
  v_row.scopes := p_scopes;
  v_row.queues := p_queues;
  v_row.tenants := p_tenants;
  v_row.rate_limit := p_rate_limit;
  v_row.rate_seconds := coalesce(p_rate_seconds, case when p_rate_limit is not null then 1 end);
  perform tock.check_key(v_row);
  v_row.expires_at := tock.expiry_of(p_expires_at, p_expires_in_seconds);
  v_row.lifetime := v_row.expires_at - pg_catalog.clock_timestamp();
  v_key := tock.insert_key(v_row);
  -- without the secret and its hash
  perform tock.write_audit_log('create_key', pg_catalog.left(v_key, 13),
    pg_catalog.jsonb_strip_nulls(pg_catalog.jsonb_build_object('name', v_row.name,
      'scopes', v_row.scopes, 'queues', v_row.queues, 'tenants', v_row.tenants,
      'expires_at', v_row.expires_at, 'rate_limit', v_row.rate_limit, 'rate_seconds', v_row.rate_seconds)));
  return query
    select v_key, k.prefix, k.name, k.scopes, k.queues, k.tenants, k.rate_limit, k.rate_seconds, k.created_at,
      k.expires_at, k.replaces
    from tock.keys k where k.prefix = pg_catalog.left(v_key, 13);
end $$;

comment on function tock.create_key is
  'Makes a key with scopes (enqueue, claim, read, admin) for all or some queues and tenants, with an '
  'optional expiry and rate. Returns the secret this once; only its hash is stored.';

create or replace function tock.revoke_key(p_prefix text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s' as $$
declare
  v_revoked_at timestamptz;
begin
  select k.revoked_at into v_revoked_at from tock.keys k where k.prefix = p_prefix for no key update;
  if not found then
    return false;
  elsif v_revoked_at is null then
    update tock.keys k set revoked_at = pg_catalog.clock_timestamp() where k.prefix = p_prefix;
    perform tock.write_audit_log('revoke_key', p_prefix);
  end if;
  return true;
end $$;

comment on function tock.revoke_key is 'Ends a key at once; false if there is none with this prefix.';
