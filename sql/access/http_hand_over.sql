-- The claim is part of the transaction of the enqueue, so it commits synchronously. It takes what is first in
-- the queue, waits for no stream and no limit, and for a concurrency key 100 ms at most.
create or replace function tock.http_enqueue_and_claim(
  p_key text, p_queue text, p_body text, p_request_id text, p_trace jsonb, p_limit integer,
  p_lease_seconds integer, out body text, out claimed text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_one tock.claimed;
  v_runs tock.claimed[];
begin
  body := tock.http_enqueue(p_key, p_queue, p_body, p_request_id, p_trace);
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    return;
  end if;
  if p_limit = 1 then
    v_one := tock.claim_one(p_queue, 'woken', p_lease_seconds, null, false);
  end if;
  if v_one.lease is not null then
    v_runs := array[v_one];
  elsif v_one.id is null then
    v_runs := array(
      select c from tock.claim_streams(p_queue, 'woken', null, false,
        tock.begin_claim(p_queue, 'woken', p_limit, p_lease_seconds, null, false, 4194303)) c);
  end if;
  if pg_catalog.cardinality(v_runs) > 0 then
    claimed := tock.claim_body(p_queue, v_runs, null);
  end if;
end $$;

comment on function tock.http_enqueue_and_claim is
  'http_enqueue(), then a claim for a consumer that is free in the Worker of the call; claimed is as in the '
  'answer to a claim, null without a task.';
