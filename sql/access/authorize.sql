-- True if a key without rate and tenants has a scope for a queue (* for all). For any other answer call
-- authorize(), which gives the reason, or allows a queue that is null. Most keys have no rate and no tenants:
-- for them one look-up decides.
create or replace function tock.allows_simple(p_key text, p_scope text, p_queue text)
returns boolean language plpgsql stable as $$
declare
  -- computed once: a small table of keys is scanned, and in the condition the hash would be computed for each
  -- row
  v_hash bytea := pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
begin
  return (
    select case when k.revoked_at is null and p_scope = any (k.scopes)
      and (k.queues is null or p_queue = any (k.queues))
      and k.tenants is null and k.rate_limit is null
      and (k.expires_at is null or k.expires_at > pg_catalog.clock_timestamp())
      then tock.count_key_use(k.prefix) else false end
    from tock.keys k where k.hash = v_hash);
end $$;

-- The row of a key; TK401 if there is none, or if it has ended.
create or replace function tock.live_key(p_key text)
returns tock.keys language plpgsql stable as $$
declare
  v_key tock.keys;
  v_hint text := 'see tock key list for its replacement, or make a new one: tock key create';
begin
  select k.* into v_key from tock.keys k
  where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
  if v_key.prefix is null then
    perform tock.refuse(401, 'this key is unknown', 'Authorization',
      'send Authorization: Bearer with a key from: tock key create');
  elsif v_key.revoked_at is not null then
    perform tock.refuse(401, 'this key was revoked at ' || tock.utc(v_key.revoked_at),
      'Authorization', v_hint);
  elsif v_key.expires_at <= pg_catalog.clock_timestamp() then
    perform tock.refuse(401, 'this key expired at ' || tock.utc(v_key.expires_at), 'Authorization', v_hint);
  end if;
  return v_key;
end $$;

-- The HTTP server calls this before it reads a large body. The call does not count as a use of the key: the
-- route authorizes the key afterwards.
create or replace function tock.known_key(p_key text)
returns boolean language plpgsql stable security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform tock.live_key(p_key);
  return true;
end $$;

comment on function tock.known_key is 'True if a key exists and has not ended; otherwise raises TK401.';

create or replace function tock.authorize(
  p_key text, p_scope text, p_queue text default null, p_own boolean default false,
  p_again boolean default false)
returns boolean language plpgsql stable security definer
set search_path = pg_catalog, pg_temp as $$
declare
  v_key tock.keys;
begin
  if not coalesce(tock.allows_simple(p_key, p_scope, p_queue), false) then
    v_key := tock.live_key(p_key);
    perform tock.count_key_use(v_key.prefix);
    if v_key.rate_limit is not null and not p_again then
      perform tock.enforce_key_rate(v_key);
    end if;
    if p_scope is null or not p_scope = any (v_key.scopes) then
      perform tock.refuse(403, 'this key lacks the scope ' || coalesce(p_scope, 'null'), 'Authorization',
        'use a key that has it; this one has: ' || pg_catalog.array_to_string(v_key.scopes, ', '));
    elsif v_key.tenants is not null and not p_own then
      perform tock.refuse(403, 'this call concerns tasks of all tenants, and this key is only for some',
        'Authorization', 'use a key without tenants');
    elsif v_key.queues is not null and p_queue = '*' then
      perform tock.refuse(403, 'this call concerns all queues, and this key is only for some',
        'Authorization', 'use a key without queues');
    elsif v_key.queues is not null and p_queue is not null and not p_queue = any (v_key.queues) then
      perform tock.refuse(403, 'this key is not for that queue', 'Authorization',
        'use another key; this one is for: ' || pg_catalog.array_to_string(v_key.queues, ', '));
    end if;
  end if;
  -- the key for the audit log
  if p_scope in ('enqueue', 'admin') then
    perform pg_catalog.set_config('tock.key', pg_catalog.left(p_key, 13), true);
  end if;
  return true;
end $$;

comment on function tock.authorize is
  'True if a key has a scope, for a queue if one is given; otherwise raises TK401, TK403, or TK429 if its '
  'rate is used up (not for the repetitions of a waiting call, p_again). A key for some tenants passes only '
  'if the caller restricts itself to their tasks (p_own).';
