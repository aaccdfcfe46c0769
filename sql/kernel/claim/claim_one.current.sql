-- Claims one run in the current segment; id 0 if nothing is ready, null if claim_streams() has to decide.
-- p_request_id and p_own_transaction as in claim(). This function finds the first run above a cursor whose
-- stream lock is free, in the order of find_streams(). The query tries the lock only after it has found the
-- run, so its snapshot is older than the lock. So the insert of the lease checks again what may have changed
-- in between. If a stream has a run but its lock is taken, the query sets tock.busy, which only this function
-- uses. A stream whose runs have options is left to claim_streams(): the query returns it without a position.
create or replace function tock.claim_one(
  p_queue text, p_worker text, p_seconds integer, p_request_id text, p_own_transaction boolean)
returns tock.claimed language plpgsql volatile as $$
declare
  v_seed integer := pg_catalog.floor(pg_catalog.random() * 2147483647);
  v_late boolean := p_own_transaction;  -- late maintenance has yet to run
  v_next record;
  v_digest bigint;
begin
  if p_request_id is not null then
    -- as in begin_claim(), which answers a repeated call
    v_digest := pg_catalog.hashtextextended(
      pg_catalog.jsonb_build_array(p_worker, 1, p_seconds)::text, 0);
    if (tock.request_seen('claim', p_queue, p_request_id, v_digest)).token is not null then
      return null;
    end if;
  end if;
  -- one claim in sixteen runs late maintenance
  if v_late and v_seed % 16 = 0 and tock.current_segment() is not null then
    perform tock.piggyback_maintenance();
    v_late := false;
  end if;
  select q.max_attempts,
    pg_catalog.clock_timestamp() + coalesce(p_seconds, q.lease_seconds) * interval '1 second' as leased_until,
    tock.new_token_of_one({segment}, n.stream, n.after_position) as token, n.* into v_next
  from tock.queues q left join lateral (
    select s.number as stream, s.priority, c.after_position,
      case when s.lane < 1024 then r.unread end as position, r.*
    from (
      select t.number, t.priority, t.start_after, t.lane from tock.streams t
      where t.queue = p_queue and t.awake
      order by t.priority, (t.lane & 512 <> 0) = (v_seed % 24 <> 0),
        pg_catalog.hashint4extended(t.lane, v_seed), pg_catalog.hashint4extended(t.slot, v_seed)
      offset 0) s
    cross join lateral (
      select case when s.start_after >= {first_position} - 1 then greatest(s.start_after, coalesce((
        select l.last_position from tock.leases_{segment} l where l.stream = s.number
        order by l.stream desc, l.after_position desc limit 1), 0)) end as after_position offset 0) c
    left join lateral (
      select r.position as unread, r.task_id, r.attempt, r.max_attempts as own_attempts, r.tenant,
        r.created_at, r.payload
      from tock.runs_{segment} r where r.stream = s.number and r.position > c.after_position
      order by r.stream, r.position limit 1) r on true
    where case
      when c.after_position is null then true
      when r.unread is null then false
      when s.lane >= 1024 then true
      when pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), s.number) then true
      else pg_catalog.set_config('tock.busy', 'on', true) is null end
    limit 1) n on true
  where q.name = p_queue and not q.paused and not q.pause_after_restore
    and q.max_running is null and q.rate_limit is null
    -- a sub-select, so that it is evaluated before a stream is locked
    and (select {is_current} from tock.positions s) and not (v_late and (
      select w.due_at from tock.waiting w
      where w.lost >= 0 and w.due_at <= pg_catalog.now() and w.due_at >= coalesce(
        (select p.due_at from tock.promotions p order by p.due_at desc limit 1), '-infinity')
      order by w.due_at limit 1) is not null)
  limit 1;
  if v_next.position is null then
    if pg_catalog.current_setting('tock.busy', true) = 'on' then
      perform pg_catalog.set_config('tock.busy', '', true);
      return null;
    end if;
    if v_next.max_attempts is null or v_next.stream is not null
      or (v_late and tock.piggyback_maintenance())
    then
      return null;
    end if;
    return row(null, null, 0, null, null, null, null, null, null, null)::tock.claimed;
  end if;
  -- This statement has a new snapshot, under the lock. Since the query, another claim may have leased the
  -- range (a conflict), the stream may have been at rest and moved start_after, or the run may have got an
  -- override.
  insert into tock.leases_{segment} (
      stream, after_position, last_position, runs, token, worker, leased_until, alone)
    select v_next.stream, v_next.after_position, v_next.position, 1, v_next.token, p_worker,
      v_next.leased_until, true
    from tock.streams s
    where s.number = v_next.stream and s.start_after <= v_next.after_position
      and (select m.position from tock.run_overrides_{segment} m
        where m.stream = v_next.stream and m.position = v_next.position limit 1) is null
    on conflict do nothing;
  if not found then
    return null;
  end if;
  if p_request_id is not null then
    insert into tock.requests (verb, queue, request_id, digest, token)
      values ('claim', p_queue, p_request_id, v_digest, v_next.token);
  end if;
  if p_own_transaction and (v_late or not tock.has_fired()) then
    perform pg_catalog.set_config('synchronous_commit', 'off', true);
  end if;
  return row(v_next.token, v_next.leased_until,
    coalesce(v_next.task_id, tock.id_at(v_next.position, v_next.stream)),
    tock.id_at(v_next.position, v_next.stream), v_next.attempt,
    coalesce(v_next.own_attempts, v_next.max_attempts),
    v_next.priority, v_next.tenant, v_next.created_at, v_next.payload)::tock.claimed;
end $$;
