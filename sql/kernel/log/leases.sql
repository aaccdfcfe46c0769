-- The unfinished runs of an open lease, as its claim returned them; none after the lease has expired.
create or replace function tock.leased_runs(p_lease uuid)
returns setof tock.claimed language plpgsql volatile as $$
declare
  v_segment integer := tock.lease_segment(p_lease);
begin
  if v_segment is not null then
    return query execute pg_catalog.format('select * from tock.leased_runs_%s($1)', v_segment) using p_lease;
  end if;
end $$;
