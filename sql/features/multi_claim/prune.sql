-- Deletes workers whose last claim_for_worker() is two days old, except those that still hold a lease. The
-- function skips workers that are claiming at this moment. It checks each lease with the row of its worker
-- locked, since the worker may have claimed in between.
create or replace function tock.prune_worker_leases(p_limit integer)
returns void language plpgsql volatile as $$
declare
  v_own tock.worker_leases;
begin
  for v_own in
    select o.* from tock.worker_leases o where o.claimed_at < pg_catalog.now() - interval '2 days'
    order by o.claimed_at limit p_limit for update skip locked
  loop
    if tock.is_open(v_own.token, tock.lease_segment(v_own.token)) then
      update tock.worker_leases o set claimed_at = pg_catalog.now()
      where o.queue = v_own.queue and o.worker = v_own.worker;
    else
      delete from tock.worker_leases o where o.queue = v_own.queue and o.worker = v_own.worker;
    end if;
  end loop;
end $$;
