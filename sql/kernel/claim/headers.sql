create or replace function tock.headers_of(p_lease uuid, p_segment integer)
returns jsonb language plpgsql volatile as $$
declare
  v_headers jsonb := tock.run_headers_current(p_lease, p_segment);
begin
  if v_headers is null then
    execute pg_catalog.format('select tock.run_headers_%s($1, $2)', p_segment)
      into v_headers using p_lease, p_segment;
  end if;
  return v_headers;
end $$;

comment on function tock.headers_of is
  'The headers and push_url of the runs of a lease, by run id, in any segment.';

-- Only runs with options have headers or a push_url, and the token of their lease says so. For other leases
-- the function reads no row.
create or replace function tock.lease_headers(p_lease uuid)
returns jsonb language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off as $$
declare
  v_segment integer;
begin
  if tock.lease_has_options(p_lease) then
    v_segment := tock.lease_segment(p_lease);
  end if;
  return case when v_segment is null then '{}' else tock.headers_of(p_lease, v_segment) end;
end $$;

comment on function tock.lease_headers is
  'The headers and push_url of the runs of a lease, by run_id: {headers, push_url}; runs with neither are '
  'left out.';
