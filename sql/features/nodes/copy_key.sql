create or replace function tock.copy_key(p_key jsonb, p_overlap_seconds integer default 86400)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s' as $$
declare
  v_row tock.keys;
begin
  if pg_catalog.jsonb_typeof(p_key) is distinct from 'object'
    or coalesce(p_key ->> 'prefix', '') !~ '^tock_[0-9a-f]{8}$'
    or coalesce(p_key ->> 'key' ~ ('^' || (p_key ->> 'prefix') || '_[0-9a-f]{56}$'),
      p_key ->> 'hash' ~ '^\\x[0-9a-f]{64}$', false) is false
  then
    perform tock.refuse(422, 'this is not a key that create_key() or rotate_key() has made', 'key');
  end if;
  v_row := pg_catalog.jsonb_populate_record(null::tock.keys, p_key - 'hash');
  v_row.hash := coalesce(pg_catalog.sha256((p_key ->> 'key')::bytea), (p_key ->> 'hash')::bytea);
  v_row.created_at := coalesce(v_row.created_at, pg_catalog.clock_timestamp());
  v_row.lifetime := coalesce(v_row.lifetime, v_row.expires_at - v_row.created_at);
  perform tock.check_key(v_row);
  insert into tock.keys values (v_row.*) on conflict do nothing;
  if not found then
    return false;
  end if;
  insert into tock.key_uses (prefix) values (v_row.prefix);
  perform tock.make_key_counters(v_row.prefix, v_row.rate_limit is not null);
  update tock.keys k
  set expires_at = least(k.expires_at, v_row.created_at + p_overlap_seconds * interval '1 second')
  where k.prefix = v_row.replaces and p_key ? 'key';
  perform tock.write_audit_log('copy_key', v_row.prefix);
  return true;
end $$;

comment on function tock.copy_key is
  'Stores a key that another node has made: the answer of create_key() or rotate_key() there, with its '
  'secret, or the row of the key. False if this node has it.';
