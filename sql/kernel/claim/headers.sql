create or replace function tock.told_of(p_lease uuid, p_epoch integer)
returns jsonb
language plpgsql
volatile
as $$
declare
  v_told jsonb := tock.run_headers_current(p_lease, p_epoch);
begin
  if v_told is null then
    execute pg_catalog.format('select tock.run_headers_%s($1, $2)', p_epoch)
      into v_told using p_lease, p_epoch;
  end if;
  return v_told;
end $$;

comment on function tock.told_of is
  'The headers and push_url of a lease''s runs, by their ids, in whatever epoch.';

-- Only runs with options have anything of this, and their leases say that they are of such: nobody else
-- reads a row, nor pays for planner settings.
create or replace function tock.lease_headers(p_lease uuid)
returns jsonb
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_epoch integer;
begin
  if tock.lease_asks(p_lease) then
    v_epoch := tock.lease_epoch(p_lease);
  end if;
  return case when v_epoch is null then '{}' else tock.told_of(p_lease, v_epoch) end;
end $$;

comment on function tock.lease_headers is
  'What the runs of a lease were given beside their payloads, by their run_id: {headers, push_url}; those '
  'that have neither are left out.';
