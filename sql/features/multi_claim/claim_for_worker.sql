-- Two calls of one worker wait for each other at its row: the second one finds the lease of the first. The
-- row is locked before anything that claim() locks.
create or replace function tock.claim_for_worker(
  p_queue text, p_worker text, p_lease_seconds integer default null)
returns setof tock.claimed language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_own tock.worker_leases;
  v_row tock.claimed;
begin
  perform tock.check_read_committed('claim_for_worker');
  perform tock.check_claim(p_queue, p_worker, 1, coalesce(p_lease_seconds, 60));
  if coalesce(p_worker, '') = '' then
    perform tock.refuse(422, 'worker must be a name of 1 to 200 characters', 'worker');
  end if;
  loop
    insert into tock.worker_leases (queue, worker) values (p_queue, p_worker) on conflict do nothing;
    select o.* into v_own from tock.worker_leases o
    where o.queue = p_queue and o.worker = p_worker for update;
    -- otherwise prune_worker_leases() deleted the row in between
    exit when found;
  end loop;
  if v_own.token is not null then
    perform from tock.extend(v_own.token, p_lease_seconds);
    if found then
      return query select * from tock.leased_runs(v_own.token);
      if found then
        return;
      end if;
    end if;
  end if;
  select c.* into v_row
  from tock.claim(p_queue => p_queue, p_worker => p_worker, p_lease_seconds => p_lease_seconds) c;
  if v_row.lease is not null then
    -- claimed_at is indexed, so it is updated only once an hour
    update tock.worker_leases o set token = v_row.lease,
      claimed_at = case when o.claimed_at > pg_catalog.now() - interval '1 hour' then o.claimed_at
        else pg_catalog.now() end
    where o.queue = p_queue and o.worker = p_worker;
    return next v_row;
  end if;
end $$;

comment on function tock.claim_for_worker is
  'Claims one run for a worker that may hold one run of the queue. While its last lease is open, returns '
  'that one again with a later deadline.';
