-- Only runs with options have headers or a push_url, and the token of their lease says so. For other leases
-- the function reads no row.
create or replace function tock.lease_headers(p_lease uuid)
returns jsonb language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_segment integer := case when tock.lease_has_options(p_lease) then tock.lease_segment(p_lease) end;
  v_headers jsonb;
begin
  if v_segment is null then
    return '{}';
  end if;
  v_headers := tock.run_headers_current(p_lease, v_segment);
  if v_headers is null then
    execute pg_catalog.format('select tock.run_headers_%s($1, $2)', v_segment)
      into v_headers using p_lease, v_segment;
  end if;
  return v_headers;
end $$;

comment on function tock.lease_headers is
  'The headers, push_url and steps of the runs of a lease, by run_id; runs with none are left out. '
  'The steps are those of a task that slept or waited for an event, as task_steps() returns them. They are '
  'null above 512 KiB, or above the share of the run in 4 MiB; of a task forked from a step, empty.';
