-- Lock order: (1) the request id; (2) the limit of the queue; (3) claim locks of streams, try-lock. A claim
-- never blocks once it has leased runs. Before it locks a stream, it reads the list of streams and their
-- cursors. Under the lock, one statement checks that the cursor is still the newest, chooses the range,
-- inserts the lease and returns the payloads. The returned runs are therefore exactly the leased ones. If the
-- cursor has moved, the claim reads it again: it cannot move while the claim holds the lock. The primary key
-- of leases rejects a second claim from one cursor.
--
-- With p_own_transaction the statement is the whole transaction. The claim then also promotes due tasks and
-- commits asynchronously.
create or replace function tock.claim(
  p_queue text, p_worker text default null, p_limit integer default 1,
  p_lease_seconds integer default null, p_request_id text default null,
  p_own_transaction boolean default false, p_bytes integer default 4194304)
returns setof tock.claimed language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_context text;
  v_own_transaction boolean;
  v_one tock.claimed;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.check_read_committed('claim');
  end if;
  get diagnostics v_context = pg_context;
  v_own_transaction := tock.is_own_transaction(p_own_transaction, v_context);
  -- the most frequent call: one run
  if p_limit = 1 and p_bytes = 4194304
    and coalesce(p_lease_seconds, 1) between 1 and 86400 and coalesce(pg_catalog.length(p_worker), 0) <= 200
  then
    v_one := tock.claim_one(p_queue, p_worker, p_lease_seconds, p_request_id, v_own_transaction);
    if v_one.lease is not null then
      return next v_one;
      return;
    elsif v_one.id = 0 then
      return;
    end if;
  end if;
  return query
    select * from tock.claim_streams(p_queue, p_worker, p_request_id, v_own_transaction,
      tock.begin_claim(p_queue, p_worker, p_limit, p_lease_seconds, p_request_id, v_own_transaction,
        p_bytes));
end $$;

comment on function tock.claim is
  'Leases up to p_limit ready runs to a worker, in the order of priorities, and within a priority from the '
  'lanes in random order. Returns them with their payloads; no rows if nothing is ready (claim_state() says '
  'why). A repeated call with the same request_id returns the same runs while their lease is open (TK409 '
  'afterwards). p_own_transaction says that the statement is the whole transaction: the claim then commits '
  'asynchronously and promotes due tasks. Other claims skip the streams of this one until its transaction '
  'ends. Therefore claim in a separate transaction and complete in yours (TK409 outside read committed). '
  'p_bytes bounds the payloads of the first stream; if it is below 4 MiB, a larger run is not claimed.';

-- What a claim may lease: allowed is 0 or less if the queue is paused or at its limit; repeated is the lease
-- of an earlier call with this request_id. Raises TK422 for invalid arguments of claim(). p_own_transaction
-- says that the calling verb is the whole transaction.
create or replace function tock.begin_claim(
  p_queue text, p_worker text, p_limit integer, p_lease_seconds integer, p_request_id text,
  p_own_transaction boolean, p_bytes integer)
returns tock.claiming language plpgsql volatile as $$
declare
  v_policy tock.queues;
  v_seconds integer;
  v_seen tock.requests;
  v_claim tock.claiming;
begin
  v_claim.late := p_own_transaction;
  if v_claim.late and pg_catalog.random() < 0.0625 and tock.current_segment() is not null then
    perform tock.piggyback_maintenance();
    v_claim.late := false;
  end if;
  v_policy := tock.policy(p_queue);
  v_seconds := coalesce(p_lease_seconds, v_policy.lease_seconds);
  if v_policy.name = '*' or not coalesce(p_limit between 1 and 10000 and v_seconds between 1 and 86400, false)
    or pg_catalog.length(p_worker) > 200
  then
    perform tock.check_claim(p_queue, p_worker, p_limit, v_seconds);
    if pg_catalog.to_regnamespace('tock_nodes') is not null then
      perform tock.on_not_found(p_queue, 'queue ' || p_queue, 'queue');
    end if;
  end if;
  -- A queue without streams has nothing to claim, unless late maintenance adds a task to it.
  if v_policy.name = '*' and p_request_id is null
    and (select s.number from tock.streams s where s.queue = p_queue and s.awake limit 1) is null
  then
    if not (v_claim.late and tock.piggyback_maintenance()) then
      return v_claim;
    end if;
    v_claim.late := false;
  end if;
  v_claim.allowed := p_limit;
  v_claim.bytes := coalesce(p_bytes, 4194304);
  v_claim.leased_until := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => v_seconds);
  v_claim.max_attempts := v_policy.max_attempts;
  if p_request_id is not null then
    v_claim.digest := pg_catalog.hashtextextended(
      pg_catalog.jsonb_build_array(p_worker, p_limit, p_lease_seconds)::text, 0);
    v_seen := tock.request_seen('claim', p_queue, p_request_id, v_claim.digest);
    if v_seen.token is not null then
      v_claim.repeated := v_seen.token;
      return v_claim;
    end if;
  end if;
  if v_policy.paused or v_policy.pause_after_restore then
    if tock.current_segment() is null then
      perform tock.guard_before_use();
    end if;
    if v_claim.late then
      perform tock.piggyback_maintenance();
      v_claim.late := false;
    end if;
    if tock.is_paused(v_policy) then
      v_claim.allowed := 0;
      return v_claim;
    end if;
  end if;
  if v_policy.max_running is not null or v_policy.rate_limit is not null then
    v_claim.limiter_state := tock.before_claim(p_queue, v_policy, v_claim.bytes >= 4194304);
    if v_claim.late and (v_claim.limiter_state).allowed < 1 then
      v_claim.late := false;
      if tock.piggyback_maintenance() then
        v_claim.limiter_state := tock.before_claim(p_queue, v_policy, v_claim.bytes >= 4194304);
      end if;
    end if;
    v_claim.allowed := least(p_limit, coalesce((v_claim.limiter_state).allowed, 0));
  end if;
  return v_claim;
end $$;
