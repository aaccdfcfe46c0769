create or replace function tock.update_key(p_prefix text, p_changes jsonb)
returns table (
  prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer,
  rate_seconds integer, created_at timestamptz, expires_at timestamptz, revoked_at timestamptz, replaces text,
  replaced_by text, last_used_at timestamptz, uses bigint) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_other text;
  v_row tock.keys;
begin
  if pg_catalog.jsonb_typeof(p_changes) is distinct from 'object' then
    perform tock.refuse(422, 'changes must be an object', 'changes');
  end if;
  select c.key into v_other from pg_catalog.jsonb_each(p_changes) c
  where c.key not in ('name', 'expires_at', 'expires_in_seconds', 'rate_limit', 'rate_seconds')
    or not coalesce(case c.key
    when 'name' then pg_catalog.jsonb_typeof(c.value) = 'string'
    when 'expires_at' then c.value = 'null' or pg_catalog.jsonb_typeof(c.value) = 'string'
      and tock.is_instant(c.value #>> '{}')
    when 'expires_in_seconds' then pg_catalog.jsonb_typeof(c.value) = 'number'
      and (c.value #>> '{}')::numeric < 1e9
    else c.value = 'null' or pg_catalog.jsonb_typeof(c.value) = 'number'
      and (c.value #>> '{}')::numeric % 1 = 0
      and (c.value #>> '{}')::numeric between 0 and 1e9 end, false)
  limit 1;
  if found then
    perform tock.refuse(422, v_other || ' is not a setting that can change, or its value is invalid', v_other,
      'give name (a string), expires_at (an instant or null) or expires_in_seconds (a number), rate_limit '
      'and rate_seconds (whole numbers or null); for other scopes, queues or tenants make a new key');
  end if;
  select k.* into v_row from tock.keys k where k.prefix = p_prefix for no key update;
  if not found then
    return;
  elsif v_row.revoked_at is not null then
    perform tock.refuse(409, 'this key has been revoked', 'prefix', 'make a new key');
  end if;
  v_row.name := coalesce(p_changes ->> 'name', v_row.name);
  if p_changes ?| array['expires_at', 'expires_in_seconds'] then
    v_row.expires_at := tock.expiry_of((p_changes ->> 'expires_at')::timestamptz,
      (p_changes ->> 'expires_in_seconds')::double precision);
    v_row.lifetime := v_row.expires_at - pg_catalog.clock_timestamp();
  end if;
  if p_changes ? 'rate_limit' then
    v_row.rate_limit := (p_changes ->> 'rate_limit')::numeric;
    v_row.rate_seconds := case when v_row.rate_limit is not null then coalesce(v_row.rate_seconds, 1) end;
  end if;
  if p_changes ? 'rate_seconds' then
    v_row.rate_seconds := (p_changes ->> 'rate_seconds')::numeric;
  end if;
  perform tock.check_key(v_row);
  perform tock.make_key_counters(p_prefix, v_row.rate_limit is not null);
  update tock.keys k set (name, expires_at, lifetime, rate_limit, rate_seconds)
      = (v_row.name, v_row.expires_at, v_row.lifetime, v_row.rate_limit, v_row.rate_seconds)
    where k.prefix = p_prefix;
  perform tock.write_audit_log('update_key', p_prefix, p_changes);
  return query select * from tock.keys_list(p_prefix);
end $$;

comment on function tock.update_key is
  'Changes the name, expiry or rate of a key; null removes the expiry or rate. No row if there is no key '
  'with this prefix.';

-- Lock order: the row of the old key. A concurrent rotation waits here and then finds the key replaced. The
-- unique index on replaces also allows only one live replacement. If the secret was lost, the new key is
-- revoked by its prefix.
create or replace function tock.rotate_key(p_prefix text, p_overlap_seconds integer default 86400)
returns table (
  key text, prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer,
  rate_seconds integer, created_at timestamptz, expires_at timestamptz, replaces text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
  v_now timestamptz;
  v_old tock.keys;
  v_new tock.keys;
  v_other text;
  v_key text;
begin
  perform tock.check_range(p_overlap_seconds, 0, 2678400, 'overlap_seconds');
  select k.* into v_old from tock.keys k where k.prefix = p_prefix for no key update;
  if not found then
    return;
  end if;
  v_now := pg_catalog.clock_timestamp();
  v_other := (select k.prefix from tock.keys k where k.replaces = p_prefix and k.revoked_at is null);
  if v_old.revoked_at is not null then
    perform tock.refuse(409, 'this key has been revoked', 'prefix', 'make a new key');
  elsif v_other is not null then
    perform tock.refuse(409, 'this key has been replaced by ' || v_other, 'prefix',
      pg_catalog.format('if the secret of the new key was lost, revoke %s and rotate again', v_other));
  elsif v_old.expires_at <= v_now then
    perform tock.refuse(409, 'this key has expired', 'prefix', 'make a new key');
  end if;
  v_new := v_old;
  v_new.replaces := p_prefix;
  v_new.expires_at := v_now + v_old.lifetime;
  v_key := tock.insert_key(v_new);
  update tock.keys k set expires_at = least(k.expires_at, v_now + p_overlap_seconds * interval '1 second')
    where k.prefix = p_prefix;
  perform tock.write_audit_log('rotate_key', p_prefix,
    pg_catalog.jsonb_build_object('replaced_by', pg_catalog.left(v_key, 13),
      'overlap_seconds', p_overlap_seconds));
  return query
    select v_key, k.prefix, k.name, k.scopes, k.queues, k.tenants, k.rate_limit, k.rate_seconds, k.created_at,
      k.expires_at, k.replaces
    from tock.keys k where k.prefix = pg_catalog.left(v_key, 13);
end $$;

comment on function tock.rotate_key is
  'Makes a new key with the rights and the lifetime of an existing one, and ends the old one after the '
  'overlap. TK409 if a live key has already replaced it; no row if there is none with this prefix.';
