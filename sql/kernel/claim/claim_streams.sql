-- Leases runs from the streams of a queue, one stream after another, until the claim has all that it may
-- lease. With p_claim.repeated it returns that lease's runs instead.
--
-- A claim returns runs of up to 64 streams and up to 10 MiB. That holds even if every byte is a quote or a
-- backslash, which Neon's answer escapes to two bytes. The first stream gives up to 4 MiB (at least one run
-- of any size), the second 512 KiB, each further one 6 KiB. The claim skips at most 10,000 cancelled runs.
-- claim_any() passes a smaller p_claim.bytes when earlier queues have given runs. Such a claim leaves a run
-- that does not fit, and waits for no lock.
--
-- All rows of a lease lie in one segment. Runs with options are leased from one stream only, since a lease
-- has one time limit.
create or replace function tock.claim_streams(
  p_queue text, p_worker text, p_request_id text, p_own_transaction boolean, p_claim tock.claiming)
returns setof tock.claimed language plpgsql volatile as $$
declare
  v_seed integer := pg_catalog.floor(pg_catalog.random() * 2147483647);
  v_first boolean := p_claim.bytes >= 4194304;
  v_scan tock.stream_scan;
  v_most integer;  -- how many streams the scan could have found
  v_next tock.candidate;
  v_busy tock.candidate;
  v_held boolean;
  v_seen integer[] := '{}';
  v_options boolean;
  v_range tock.claim_range;
  v_streams integer := 0;  -- streams that have given runs
  v_left integer := p_claim.allowed;
  v_passed integer := 0;
  v_cursor tock.stream_cursor;
  v_fresh boolean;  -- the cursor was read with the stream lock held
  v_overridden tock.passed;
  v_got integer;
begin
  if p_claim.repeated is not null then
    return query select * from tock.leased_runs(p_claim.repeated);
    if not found then
      perform tock.refuse(409, 'the lease of the claim with this request_id has ended', 'request_id',
        'claim again with a new request_id');
    end if;
    return;
  elsif coalesce(p_claim.allowed, 0) < 1 then
    return;
  end if;
  v_range.worker := p_worker;
  v_range.max_attempts := p_claim.max_attempts;
  <<streams>>
  loop
    if pg_catalog.cardinality(v_scan.streams) < v_most then
      v_scan.streams := '{}';  -- there are no more
    else
      v_most := 2 + pg_catalog.cardinality(v_seen);
      v_scan := tock.find_streams(p_queue, v_seed, v_seen, v_most, p_claim.late);
      -- not always: the call costs a claim of two runs 4 % of its CPU time
      if v_scan.segment is null or (p_claim.late and (v_scan.due or v_scan.streams = '{}')) then
        v_scan := tock.scan_again(p_queue, v_seed, v_seen, v_most, p_claim.late, v_scan);
      end if;
      p_claim.late := false;
    end if;
    v_held := pg_catalog.cardinality(v_scan.streams) = 0;
    if v_held then
      -- other claims hold all remaining streams: wait a moment for one of them
      exit when v_streams > 0 or v_busy.stream is null
        or not ((v_first and tock.wait_for_lock(v_busy.stream)) or tock.take_stream(v_busy.stream));
      v_scan.streams := array[v_busy];
      v_busy := null;
    end if;
    foreach v_next in array v_scan.streams loop
      v_seen := v_seen || v_next.stream;
      if not (v_held or pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_next.stream)) then
        v_busy := case when v_busy.stream is null then v_next else v_busy end;
        continue;
      end if;
      v_options := false;
      if v_next.after_position is null then
        v_options := (select s.lane >= 1024 from tock.streams s where s.number = v_next.stream);
      end if;
      continue when v_streams > 0 and v_options;
      v_range.stream := v_next.stream;
      v_range.priority := v_next.priority;
      v_range.most := v_left;
      v_range.bytes :=
        case v_streams when 0 then least(p_claim.bytes, 4194304) when 1 then 524288 else 6144 end;
      v_range.one := v_first and v_streams = 0;
      v_cursor := row(v_scan.segment, v_next.after_position);
      if v_held then
        v_cursor := null;  -- it has moved while this claim waited for the lock
      end if;
      v_fresh := false;
      v_got := 0;
      -- repeat if another claim has leased since the cursor was read, or if all runs were skipped
      loop
        if v_cursor.after_position is null then
          if v_scan.segment is not null then
            v_cursor := tock.current_cursor(v_next.stream);
          end if;
          if v_cursor.segment is null then
            v_cursor := tock.resolve_cursor(v_next.stream, p_own_transaction);
          end if;
          v_fresh := true;
        end if;
        exit when v_cursor.segment is null or (v_streams > 0 and v_cursor.segment <> v_range.segment);
        v_range.segment := v_cursor.segment;
        v_range.after_position := v_cursor.after_position;
        v_range.leased_until := p_claim.leased_until;
        if v_streams = 0 then
          v_range.token := tock.new_token(
            v_range.segment, v_range.after_position, case when v_options then '5' else '4' end);
        end if;
        if not v_options then
          return query select * from tock.lease_range_current(v_range);
          get diagnostics v_got = row_count;
          exit when v_got > 0;
          if v_range.segment is distinct from v_scan.segment then
            return query execute pg_catalog.format('select * from tock.lease_range_%s($1)', v_range.segment)
              using v_range;
            get diagnostics v_got = row_count;
            exit when v_got > 0;
          end if;
        end if;
        if v_fresh then
          v_overridden := tock.pass_overridden(v_range, 10000 - v_passed);
          v_passed := v_passed + v_overridden.passed;
          if v_overridden.upto > v_overridden.after_position then
            v_range.leased_until := least(v_range.leased_until,
              pg_catalog.clock_timestamp() + v_overridden.timeout_seconds * interval '1 second');
            return query select * from tock.lease_overridden_range_current(v_range, v_overridden);
            get diagnostics v_got = row_count;
            if v_got = 0 then
              return query execute pg_catalog.format(
                'select * from tock.lease_overridden_range_%s($1, $2)', v_range.segment)
                using v_range, v_overridden;
              get diagnostics v_got = row_count;
            end if;
          end if;
          exit when v_got > 0 or v_overridden.passed = 0 or v_passed = 10000;
        end if;
        v_cursor := null;
      end loop;
      v_left := v_left - v_got;
      v_streams := v_streams + case when v_got > 0 then 1 else 0 end;
      exit streams when v_left = 0 or v_streams = 64 or v_passed = 10000 or (v_got > 0 and v_options);
    end loop;
  end loop;
  if v_streams > 0 then
    if (p_claim.limiter_state).allowed is not null then
      perform tock.after_claim(p_queue, tock.policy(p_queue), p_claim.limiter_state, v_range.token,
        p_claim.allowed - v_left);
    end if;
    if p_request_id is not null then
      insert into tock.requests (verb, queue, request_id, digest, token)
        values ('claim', p_queue, p_request_id, p_claim.digest, v_range.token);
    end if;
  end if;
  -- A crash may lose a claim that commits asynchronously: its runs are ready again while its worker executes
  -- them. Under a concurrency key or a limit, that worker would be one too many.
  if p_own_transaction and not coalesce(tock.lease_has_options(v_range.token), false)
    and (p_claim.limiter_state).allowed is null
    and not tock.has_fired()
  then
    perform pg_catalog.set_config('synchronous_commit', 'off', true);
  end if;
end $$;

-- The scan of a claim that found no current segment, or whose late maintenance (p_late) has yet to run.
create or replace function tock.scan_again(
  p_queue text, p_seed integer, p_seen integer[], p_most integer, p_late boolean, p_scan tock.stream_scan)
returns tock.stream_scan language plpgsql volatile as $$
begin
  if p_scan.segment is null and p_seen = '{}' then
    perform tock.guard_before_use();
    p_scan := tock.find_streams(p_queue, p_seed, p_seen, p_most, p_late);
  end if;
  if p_late and (p_scan.segment is null or p_scan.due or p_scan.streams = '{}')
    and tock.piggyback_maintenance()
  then
    p_scan := tock.find_streams(p_queue, p_seed, p_seen, p_most, false);
  end if;
  if p_scan.segment is null then
    p_scan.streams := tock.streams_in_any_segment(p_queue, p_seed, p_seen, p_most);
  end if;
  return p_scan;
end $$;
