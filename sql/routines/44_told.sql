-- Only runs with options have anything of this, and their leases say that they are of such: nobody else reads a row.
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
  v_told jsonb;
begin
  if not tock.lease_asks(p_lease) then
    return '{}';
  end if;
  v_epoch := tock.lease_epoch(p_lease);
  v_told := tock.told_hot(p_lease, v_epoch);
  if v_told is null and v_epoch is not null then
    execute tock.told_statement(v_epoch) into v_told using p_lease;
  end if;
  return coalesce(v_told, '{}');
end $$;

comment on function tock.lease_headers is
  'What the runs of a lease were given beside their payloads, by their run_id: {headers, push_url}; those that have neither are left out.';
