create or replace function tock.create_event_link(p_event text, p_valid_seconds integer default 604800)
returns table (token text, expires_at timestamptz) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  if coalesce(pg_catalog.length(p_event) not between 1 and 200, true) then
    perform tock.refuse(422, 'event must be a string of 1 to 200 characters', 'event');
  elsif coalesce(p_valid_seconds not between 1 and 31536000, true) then
    perform tock.refuse(422, 'valid_seconds must be a whole number from 1 to 31536000 (a year)',
      'valid_seconds');
  end if;
  token := pg_catalog.replace(pg_catalog.gen_random_uuid()::text || pg_catalog.gen_random_uuid()::text,
    '-', '');
  expires_at := pg_catalog.clock_timestamp() + p_valid_seconds * interval '1 second';
  insert into tock.event_links (token_hash, expires_at, event)
    values (pg_catalog.sha256(token::bytea), expires_at, p_event);
  return next;
end $$;

comment on function tock.create_event_link is
  'Makes a token with which anyone can signal an event once, by POST /v1/events/:token. Only its hash is '
  'stored.';

create or replace function tock.signal_by_link(p_token text, p_payload jsonb)
returns text language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_link tock.event_links;
begin
  perform tock.check_read_committed('signal_by_link');
  if coalesce(p_token !~ '^[0-9a-f]{64}$', true) then
    return 'unknown';
  end if;
  select l.* into v_link from tock.event_links l
  where l.token_hash = pg_catalog.sha256(p_token::bytea) and l.expires_at > pg_catalog.clock_timestamp()
  for update;
  if v_link.event is null then
    return 'unknown';
  elsif v_link.used_at is not null then
    return 'used';
  end if;
  update tock.event_links l set used_at = pg_catalog.clock_timestamp()
  where l.token_hash = v_link.token_hash;
  return (
    select case when s.accepted then 'accepted' else 'late' end
    from tock.signal(v_link.event, p_payload) s);
end $$;

comment on function tock.signal_by_link is
  'Signals the event of a link with this payload: accepted; late, if the event had a payload before; used, '
  'if the link was used before; unknown, also after its end.';
