-- The error in the URL of an endpoint; null if it is valid. SQL does not check for private addresses. The
-- Worker does: it has TOCK_PUSH_PRIVATE and can resolve the name. It checks when a URL is set over HTTP, and
-- before each delivery.
create or replace function tock.url_error(p_url jsonb)
returns text language sql immutable as $$
  select case when pg_catalog.jsonb_typeof(p_url) = 'string' and pg_catalog.length(p_url #>> '{}') <= 2000
      and p_url #>> '{}' ~* '^https?://([^][/?#@:\\[:space:][:cntrl:]]+|\[[0-9a-f:.]+\])(:[0-9]{0,5})?'
        '([/?][^#\\[:space:][:cntrl:]]*)?$'
    then null
    else 'must be a URL of up to 2,000 characters, https://host/path, without user, password, fragment and '
      'backslash' end
$$;
