-- A claim without rows is followed by this call. The answer is for this moment, so busy may also mean that
-- tasks have become ready since the claim.
create or replace function tock.claim_state(
  p_queues text[], out state text, out retry_after_seconds integer)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
begin
  with states as materialized (
    select s.* from unnest(p_queues) q cross join lateral tock.queue_claim_state(q) s)
  select
    (select s.state from states s
     order by pg_catalog.array_position(
       array['passing', 'busy', 'empty', 'limited', 'paused'], s.state) limit 1),
    coalesce((select min(s.retry_after_seconds) from states s where s.state <> 'paused'), 30)
  into state, retry_after_seconds;
end $$;

comment on function tock.claim_state is
  'Says why a claim from these queues returns nothing now. The state "empty" means no ready task, and '
  '"paused" a paused queue. With "limited" the limits of the queue allow no more runs or starts. With '
  '"busy" other claims hold the tasks, or they have just come. With "passing" the queue has more than the '
  '10,000 cancelled runs that one claim skips: claim again at once. The column retry_after_seconds says '
  'when to claim again: 0 if passing, 1 if busy, at the next start that a rate allows if limited, '
  'otherwise at the next waiting task, 1 to 30. For several queues, the best state and the soonest time.';

-- claim_state() of one queue.
create or replace function tock.queue_claim_state(
  p_queue text, out state text, out retry_after_seconds integer)
language plpgsql volatile as $$
declare
  v_policy tock.queues := tock.policy(p_queue);
  v_limiter tock.limiter_state;
  v_stream integer;
  v_cursor tock.stream_cursor;
begin
  if tock.is_paused(v_policy) then
    state := 'paused';
    retry_after_seconds := 30;
    return;
  end if;
  if v_policy.max_running is not null or v_policy.rate_limit is not null then
    v_limiter := tock.limiter_state_of(p_queue, v_policy);
    if v_limiter.allowed < 1 then
      state := 'limited';
      retry_after_seconds := v_limiter.after_seconds;
      return;
    end if;
  end if;
  v_stream := tock.unread_stream(p_queue);
  if v_stream is null then
    state := 'empty';
    retry_after_seconds := greatest(1, least(30, pg_catalog.ceil(extract(epoch from
      (select w.due_at from tock.waiting w
       where w.lost >= 0 and w.queue = p_queue and w.due_at > pg_catalog.now() - interval '5 seconds'
         and w.due_at < 'infinity'
       order by w.queue, w.due_at limit 1)
      - pg_catalog.clock_timestamp()))));
    return;
  end if;
  v_cursor := tock.current_cursor(v_stream);
  if v_cursor.segment is not null and (tock.pass_overridden(row(v_cursor.segment, v_stream,
    v_cursor.after_position, 1, null, null, null, null, null, null, null)::tock.claim_range, 0)).upto
      = v_cursor.after_position
  then
    -- the next run is cancelled or expired
    state := 'passing';
    retry_after_seconds := 0;
  else
    state := 'busy';
    retry_after_seconds := 1;
  end if;
end $$;
