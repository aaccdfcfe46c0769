create or replace function tock.whoami(p_key text)
returns table (
  prefix text, name text, scopes text[], queues text[], tenants text[], rate_limit integer,
  rate_seconds integer, created_at timestamptz, expires_at timestamptz) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_key tock.keys;
begin
  select k.* into v_key from tock.keys k
  where k.hash = pg_catalog.sha256(pg_catalog.convert_to(p_key, 'UTF8'));
  -- as authorize() does, with one of the key's own scopes
  perform tock.authorize(p_key, v_key.scopes[1], v_key.queues[1], true);
  return query
    select v_key.prefix, v_key.name, v_key.scopes, v_key.queues, v_key.tenants, v_key.rate_limit,
      v_key.rate_seconds,
    v_key.created_at, v_key.expires_at;
end $$;

comment on function tock.whoami is
  'The scopes, queues, tenants, rate and expiry of a key. TK401 for an invalid key.';
