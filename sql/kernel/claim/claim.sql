-- Lock order: promotion's rows (skip locked), one stream after another by trying, never waiting while
-- something was drawn. With a stream's lock held its cursor can't move: it is read, and one further
-- statement decides the range, inserts the lease and returns the payloads, so what is leased is what
-- is delivered. The primary key of leases refuses a second claim from one cursor.
--
-- Alone, when the caller says that the call is its whole transaction, it also promotes what is due
-- and commits asynchronously.
--
-- Bounded: 64 streams and 10 MiB a call even when every byte is a quote or a backslash and so counts
-- twice in Neon's answer: 4 MiB from the first stream (one run of any size at least), 512 KiB from the
-- second, 6 KiB from each further one; 10,000 marked runs passed over. p_bytes is less
-- when claim_any() goes on after other queues have given something: then a run that doesn't fit stays, and
-- nobody is waited for.
-- All rows of a lease lie in one epoch. Runs with options are leased from one stream alone, as a lease ends by one
-- time limit. Streams of older epochs go the slow way, by place_of() and draw(). Where the queue has a limit, that is asked first (36_limits.sql)
-- and the claim commits synchronously: one that a crash forgets would be one too many.
create or replace function tock.claim(
  p_queue text, p_worker text default null, p_limit integer default 1,
  p_lease_seconds integer default null, p_request_id text default null, p_alone boolean default false,
  p_bytes integer default 4194304)
returns setof tock.claimed
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_context text;
  v_seed integer := pg_catalog.floor(pg_catalog.random() * 2147483647);
  v_alone boolean;
  v_late boolean;
  v_row tock.claimed;
  v_said text;
begin
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.check_read_committed('claim');
  end if;
  get diagnostics v_context = pg_context;
  v_alone := tock.is_alone(p_alone, v_context);
  v_late := v_alone;
  -- one in sixteen sees to it that no duty is late
  if v_late and v_seed % 16 = 0 and tock.current_epoch() is not null then
    perform tock.piggyback_maintenance();
    v_late := false;
  end if;
  -- the commonest call
  if p_limit = 1 and p_request_id is null and p_bytes = 4194304
    and coalesce(p_lease_seconds, 1) between 1 and 86400 and coalesce(pg_catalog.length(p_worker), 0) <= 200
  then
    v_row := tock.claim_one(p_queue, v_seed, p_worker, p_lease_seconds, v_late);
    if v_row.lease is not null then
      v_said := pg_catalog.set_config('tock.claim', 'found', true);
      if v_alone and (v_late or not tock.has_fired()) then
        v_said := pg_catalog.set_config('synchronous_commit', 'off', true);
      end if;
      return next v_row;
      return;
    elsif v_row.id = 0 then
      v_late := v_late and tock.piggyback_maintenance();
      if not v_late then
        v_said := pg_catalog.set_config('tock.claim', '', true);
        return;
      end if;
      v_late := false;
    end if;
  end if;
  declare
    v_policy tock.queues := tock.policy(p_queue);
    v_seconds integer := coalesce(p_lease_seconds, v_policy.lease_seconds);
    v_until timestamptz := pg_catalog.clock_timestamp() + pg_catalog.make_interval(secs => v_seconds);
    v_digest bigint;
    v_seen tock.requests;
    v_hot integer;
    v_guarded boolean := false;
    v_limited boolean := v_policy.max_running is not null or v_policy.rate_limit is not null;
    v_allowance tock.allowance;
    v_look tock.look;
    v_left integer := p_limit;
    v_first boolean := coalesce(p_bytes, 4194304) >= 4194304;
    v_drawn integer := 0;
    v_got integer;
    v_bytes integer;
    v_streams integer[] := '{}';
    v_batch tock.candidate[];
    v_next tock.candidate;
    v_busy tock.candidate;
    v_held boolean := false;
    v_at tock.place;
    v_was tock.place;
    v_epoch integer;
    v_token uuid;
    v_asking boolean := false;
    v_asks boolean;
  begin
    if v_policy.name = '*' or not coalesce(p_limit between 1 and 10000 and v_seconds between 1 and 86400, false)
      or pg_catalog.length(p_worker) > 200
    then
      perform tock.check_claim(p_queue, p_worker, p_limit, v_seconds);
    end if;
    if pg_catalog.current_setting('tock.claim', true) <> '' then
      v_said := pg_catalog.set_config('tock.claim', '', true);  -- of an earlier claim in this transaction
    end if;
    if p_request_id is not null then
      v_digest := pg_catalog.hashtextextended(
        pg_catalog.jsonb_build_array(p_worker, p_limit, p_lease_seconds)::text, 0);
      v_seen := tock.request_seen('claim', p_queue, p_request_id, v_digest);
      if v_seen.token is not null then
        return query select * from tock.leased_runs(v_seen.token);
        if not found then
          perform tock.lease_has_ended();
        end if;
        v_said := pg_catalog.set_config('tock.claim', 'found', true);
        return;
      end if;
    end if;
    if v_policy.paused or v_policy.pause_after_restore then
      if tock.current_epoch() is null then
        perform tock.guard_now();
      end if;
      if v_late then
        perform tock.piggyback_maintenance();
        v_late := false;
      end if;
      if tock.is_paused(v_policy) then
        v_said := pg_catalog.set_config('tock.claim', 'paused', true);
        return;
      end if;
    end if;
    if v_limited then
      v_allowance := tock.before_claim(p_queue, v_policy, v_first);
      if v_late and v_allowance.allowed < 1 then
        v_late := false;
        if tock.piggyback_maintenance() then
          v_allowance := tock.before_claim(p_queue, v_policy, v_first);
        end if;
      end if;
      if coalesce(v_allowance.allowed, 0) < 1 then
        v_said := pg_catalog.set_config('tock.claim', coalesce('limited ' || v_allowance.after_seconds, 'busy'), true);
        return;
      end if;
      v_left := least(p_limit, v_allowance.allowed);
    end if;

    <<streams>>
    loop
      v_look := tock.find_streams(p_queue, v_seed, v_streams, 2 + pg_catalog.cardinality(v_streams), v_late);
      v_hot := v_look.epoch;
      v_batch := v_look.streams;
      if v_hot is null and not v_guarded then
        perform tock.guard_now();
        v_guarded := true;
        continue;
      end if;
      if v_late and (v_hot is null or v_look.due or pg_catalog.cardinality(v_batch) = 0) then
        v_late := false;
        continue when tock.piggyback_maintenance() or v_hot is null;
      end if;
      if v_hot is null then
        v_batch := tock.candidates_anywhere(p_queue, v_seed, v_streams, 2 + pg_catalog.cardinality(v_streams));
      end if;
      if pg_catalog.cardinality(v_batch) = 0 then
        -- nothing but streams that others are claiming from: worth a short wait for one of them
        exit when v_drawn > 0 or v_busy.stream is null;
        if not ((v_first and tock.wait_for_lock(v_busy.stream)) or tock.take_stream(v_busy.stream)) then
          v_said := pg_catalog.set_config('tock.claim', 'busy', true);
          exit;
        end if;
        v_batch := array[v_busy];
        v_busy := null;
        v_held := true;
      end if;
      foreach v_next in array v_batch loop
        v_streams := v_streams || v_next.stream;
        if not (v_held or pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_next.stream)) then
          v_busy := case when v_busy.stream is null then v_next else v_busy end;
          continue;
        end if;
        v_held := false;
        v_bytes := case v_drawn when 0 then least(p_bytes, 4194304) when 1 then 524288 else 6144 end;
        v_got := 0;
        if v_next.after_position is not null then
          continue when v_drawn > 0 and v_epoch <> v_hot;
          if v_drawn = 0 then
            v_epoch := v_hot;
            v_asking := false;
            v_token := tock.new_token(v_epoch, v_next.after_position);
          end if;
          return query select * from tock.lease_range_current(v_hot, v_next.stream, v_next.after_position, v_left, v_token, p_worker,
            v_until, v_bytes, v_first and v_drawn = 0, v_policy.max_attempts, v_next.priority);
          get diagnostics v_got = row_count;
        else
          v_asks := tock.stream_asks(v_next.stream);
          continue when v_drawn > 0 and v_asks;
          -- again where all that was left in one epoch has been passed over
          v_was := null;
          loop
            v_at := case when v_hot is not null then tock.current_place(v_next.stream) end;
            if v_at.epoch is null then
              v_at := tock.place_of(v_next.stream, v_alone);
            end if;
            exit when v_at.epoch is null or (v_drawn > 0 and v_at.epoch <> v_epoch) or v_at is not distinct from v_was;
            v_was := v_at;
            if v_drawn = 0 then
              v_epoch := v_at.epoch;
              v_asking := v_asks;
              v_token := tock.new_token(v_epoch, v_at.after_position, case when v_asks then '5' else '4' end);
            end if;
            return query select * from tock.draw(v_at.epoch, v_next.stream, v_at.after_position, v_left, v_token, p_worker,
              v_until, v_bytes, v_first and v_drawn = 0, v_policy.max_attempts, v_next.priority);
            get diagnostics v_got = row_count;
            exit when v_got > 0;
          end loop;
        end if;
        v_left := v_left - v_got;
        v_drawn := v_drawn + case when v_got > 0 then 1 else 0 end;
        exit streams when v_left = 0 or v_drawn = 64 or (v_drawn > 0 and v_asking)
          or (v_got = 0 and tock.claim_answer() = 'passing');
      end loop;
    end loop;

    if v_drawn > 0 then
      v_said := pg_catalog.set_config('tock.claim', 'found', true);
      if v_limited then
        perform tock.after_claim(p_queue, v_policy, v_allowance, v_token, least(p_limit, v_allowance.allowed) - v_left);
      end if;
      if p_request_id is not null then
        insert into tock.requests (verb, queue, request_id, digest, token)
          values ('claim', p_queue, p_request_id, v_digest, v_token);
      end if;
    end if;
    v_alone := v_alone and not tock.has_fired();
    if v_alone and not v_asking and not v_limited then
      -- a claim lost in a crash only makes its runs ready again; beside a gate or a limit that would be one too many
      v_said := pg_catalog.set_config('synchronous_commit', 'off', true);
    end if;
  end;
end $$;

comment on function tock.claim is
  'Leases up to p_limit ready runs to a worker, priorities in order and lanes in turn, and returns them with their payloads; no rows when nothing is ready. A call repeated with its request_id gives the same runs while its lease is open (TK409 after). p_alone says that the statement is the whole transaction and does nothing else: then it commits asynchronously and promotes what is due. Until a claim''s transaction ends nobody else claims from its streams: claim in a transaction of its own, complete in yours (TK409 outside read committed). p_bytes bounds the payloads of the first stream; when it is given, a larger run stays.';
