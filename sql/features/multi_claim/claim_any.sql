-- The call claims from one queue after another, until the limit is used up. Each queue has its own lease,
-- because a lease has one queue, one policy and one segment. The answer is bounded like that of one claim:
-- each claim gets the bytes that the earlier ones left.
create or replace function tock.claim_any(
  p_queues text[], p_worker text default null, p_limit integer default 1,
  p_lease_seconds integer default null, p_request_id text default null,
  p_own_transaction boolean default false, p_weights integer[] default null)
returns setof tock.claimed_from language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_queues text[] := array(select q from unnest(p_queues) q);
  v_context text;
  v_own_transaction boolean;
  v_late boolean;
  v_digest bigint;
  v_seen tock.requests;
  v_tokens uuid[];
  v_order text[];
  v_queue text;
  v_policy tock.queues;
  v_run tock.claimed;
  v_lease uuid;
  v_got integer;
  v_bytes integer := 0;
  v_claimed boolean := false;
  v_left integer := p_limit;
  v_durable boolean := false;
begin
  perform tock.check_read_committed('claim_any');
  get diagnostics v_context = pg_context;
  v_own_transaction := tock.is_own_transaction(p_own_transaction, v_context);
  v_late := v_own_transaction;
  perform tock.check_queues(v_queues, p_weights);
  if p_request_id is not null then
    v_digest := pg_catalog.hashtextextended(
      pg_catalog.jsonb_build_array(v_queues, p_weights, p_worker, p_limit, p_lease_seconds)::text, 0);
    -- in a fixed order, so that two calls with this request id cannot deadlock
    foreach v_queue in array array(select q from unnest(v_queues) q order by q) loop
      v_seen := tock.request_seen('claim_any', v_queue, p_request_id, v_digest);
      v_tokens[pg_catalog.array_position(v_queues, v_queue)] := v_seen.token;
    end loop;
    for v_n in 1 .. pg_catalog.cardinality(v_queues) loop
      continue when v_tokens[v_n] is null;
      v_got := coalesce(v_got, 0);
      for v_run in select r.* from tock.leased_runs(v_tokens[v_n]) r loop
        v_got := v_got + 1;
        return next tock.claimed_from_queue(v_queues[v_n], v_run);
      end loop;
    end loop;
    if v_got is not null then
      if v_got = 0 then
        perform tock.refuse(409, 'the lease of the claim with this request_id has ended', 'request_id',
          'claim again with a new request_id');
      end if;
      return;
    end if;
  end if;
  -- one claim in sixteen runs late maintenance
  if v_late and pg_catalog.random() < 0.0625 then
    perform tock.run_late_maintenance();
    v_late := false;
  end if;

  loop
    v_order := array(
      select q.queue from unnest(v_queues, p_weights) with ordinality q(queue, weight, n)
      order by case when p_weights is null then q.n
        else -pg_catalog.ln(1 - pg_catalog.random()) / q.weight end);
    foreach v_queue in array v_order loop
      v_got := 0;
      for v_run in
        select c.* from tock.claim(p_queue => v_queue, p_worker => p_worker, p_limit => v_left,
          p_lease_seconds => p_lease_seconds, p_bytes => 4194304 - v_bytes) c
      loop
        v_got := v_got + 1;
        v_lease := v_run.lease;
        v_bytes := v_bytes + 128 + coalesce(pg_catalog.octet_length(v_run.payload::text), 0)
          + 4 * coalesce(pg_catalog.octet_length(v_run.tenant), 0);
        return next tock.claimed_from_queue(v_queue, v_run);
      end loop;
      if v_got > 0 then
        v_left := v_left - v_got;
        v_claimed := true;
        if v_own_transaction and not v_durable then
          v_policy := tock.policy(v_queue);
          v_durable := tock.lease_has_options(v_lease) or v_policy.max_running is not null
            or v_policy.rate_limit is not null;
        end if;
        if p_request_id is not null then
          insert into tock.requests (verb, queue, request_id, digest, token)
            values ('claim_any', v_queue, p_request_id, v_digest, v_lease);
        end if;
      end if;
      exit when v_left <= 0 or v_bytes >= 4194304;
    end loop;
    exit when v_claimed or not v_late;
    v_late := false;
    exit when not tock.run_late_maintenance();
  end loop;

  if v_own_transaction and not v_durable and not tock.has_fired() then
    perform pg_catalog.set_config('synchronous_commit', 'off', true);
  end if;
end $$;

comment on function tock.claim_any is
  'claim() from up to 20 queues: from the first all that it has, then from the next with the rest of '
  'p_limit, and so on. With p_weights each call draws a random order, so that over many calls the shares '
  'follow the weights while all queues have work. The runs of each queue have their own lease. '
  'claim_state() says why there are no rows. A repeated call with the same request_id returns what is left '
  'of the same leases (TK409 if nothing is).';

-- A row of claim() with its queue.
create or replace function tock.claimed_from_queue(p_queue text, p_run tock.claimed)
returns tock.claimed_from language sql immutable as $$
  select row(p_queue, p_run.lease, p_run.leased_until, p_run.id, p_run.run_id, p_run.attempt,
    p_run.max_attempts, p_run.priority, p_run.tenant, p_run.created_at, p_run.payload)::tock.claimed_from
$$;

-- Raises TK422 for invalid queues or weights of claim_any().
create or replace function tock.check_queues(p_queues text[], p_weights integer[])
returns void language plpgsql immutable as $$
begin
  if pg_catalog.cardinality(p_queues) not between 1 and 20 then
    perform tock.refuse(422, 'queues must be 1 to 20 names', 'queues');
  end if;
  for v_n in 1 .. pg_catalog.cardinality(p_queues) loop
    perform tock.check_queue_name(p_queues[v_n]);
    if pg_catalog.cardinality(pg_catalog.array_positions(p_queues, p_queues[v_n])) > 1 then
      perform tock.refuse(422, pg_catalog.format('queue %s is named twice', p_queues[v_n]), 'queues');
    end if;
  end loop;
  if p_weights is not null and (pg_catalog.array_ndims(p_weights) is distinct from 1
    or pg_catalog.cardinality(p_weights) <> pg_catalog.cardinality(p_queues)
    or (select bool_or(coalesce(w not between 1 and 1000, true)) from unnest(p_weights) w))
  then
    perform tock.refuse(422, 'weights must be whole numbers from 1 to 1000, one for each queue', 'weights');
  end if;
end $$;
