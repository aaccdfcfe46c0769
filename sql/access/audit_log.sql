-- Adds an administrative action to the audit log: a verb, its object and its arguments; never a secret, a
-- payload or the query of a URL. The row is written in the transaction of the verb, so an action and its row
-- are committed together. authorize() has stored the key in a setting. Other roles could write that setting
-- too, so it counts only for the role of the HTTP server.
create or replace function tock.write_audit_log(p_verb text, p_object text, p_detail jsonb default '{}')
returns void language plpgsql volatile as $$
begin
  insert into tock.audit_log (role, key, verb, object, detail)
    values (session_user, case when pg_catalog.pg_has_role(session_user, 'tock_edge', 'member')
        then nullif(pg_catalog.left(pg_catalog.current_setting('tock.key', true), 13), '') end,
      p_verb, p_object, coalesce(p_detail, '{}'));
end $$;

create or replace function tock.audit_log(
  p_key text default null, p_verb text default null, p_object text default null, p_before bigint default null,
  p_limit integer default 100)
returns table (number bigint, at timestamptz, role text, key text, key_name text, verb text,
  object text, detail jsonb) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  return query
    select a.number, a.at, a.role, a.key, (select k.name from tock.keys k where k.prefix = a.key), a.verb,
      a.object, a.detail
    from tock.audit_log a
    where (p_key is null or a.key = p_key) and (p_verb is null or a.verb = p_verb)
      and (p_object is null or a.object = p_object) and (p_before is null or a.number < p_before)
    order by a.number desc limit p_limit;
end $$;

comment on function tock.audit_log is
  'The audit log, the newest first: all entries, or those of a key (by prefix), a verb or an object; '
  'p_before is the last number of the previous page.';

-- The push setting of a queue for the audit log: without the query of the URL, which may be a secret.
create or replace function tock.without_query(p_push jsonb)
returns jsonb language sql immutable as $$
  select case when p_push ->> 'url' like '%?%'
    then pg_catalog.jsonb_set(p_push, '{url}',
      pg_catalog.to_jsonb(pg_catalog.split_part(p_push ->> 'url', '?', 1) || '?…'))
    else p_push end
$$;
