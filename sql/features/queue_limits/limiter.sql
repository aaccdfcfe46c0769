-- What the limits of a queue allow now, and how many runs are running; allowed is null while that is unknown.
create or replace function tock.limiter_state_of(p_queue text, p_policy tock.queues)
returns tock.limiter_state language plpgsql volatile as $$
declare
  v_row tock.queue_limiter_state;
  v_one tock.limiter_state;
  v_tokens uuid[];
  v_segment integer;
  v_runs integer;
  v_open uuid[];
begin
  select a.* into v_row from tock.queue_limiter_state a
  where a.queue = p_queue order by a.queue desc, a.number desc limit 1;
  v_one.number := v_row.number;
  v_one.taken_at := pg_catalog.clock_timestamp();
  v_one.allowed := 10000;
  v_one.after_seconds := 1;
  if p_policy.max_running is not null then
    v_one.seen_at := case when v_row.limited_at = p_policy.limited_at then v_row.seen_at
      else v_one.taken_at end;
    v_tokens := case when v_row.limited_at = p_policy.limited_at and v_row.leases is not null
      then v_row.leases
      else tock.open_leases(p_queue) end;
    if v_tokens is null then
      v_one.allowed := null;
      v_one.after_seconds := null;
      return v_one;
    end if;
    v_one.unwritten := coalesce(v_row.limited_at <> p_policy.limited_at, true)
      or (v_row.leases is null and v_one.seen_at < v_one.taken_at - interval '10 seconds');
    v_one.leases := '{}';
    v_one.running := 0;
    for v_segment in
      select e.number from tock.segments e
      where e.closed_at is null
        and e.number = any (array(select tock.token_segment(t) from unnest(v_tokens) t))
    loop
      execute pg_catalog.format('select * from tock.running_leases_%s($1)', v_segment) into v_runs, v_open
        using v_tokens;
      v_one.running := v_one.running + v_runs;
      v_one.leases := v_one.leases || v_open;
    end loop;
    v_one.allowed := p_policy.max_running - v_one.running;
  end if;
  if p_policy.rate_limit is not null then
    v_one.level := coalesce(p_policy.rate_burst, p_policy.rate_limit);
    v_one.level := least(v_one.level, coalesce(v_row.level, v_one.level)
      + greatest(extract(epoch from v_one.taken_at - v_row.taken_at), 0) * p_policy.rate_limit
        / p_policy.rate_seconds);
    v_one.allowed := least(v_one.allowed, pg_catalog.floor(v_one.level)::integer);
    if v_one.level < 1 then
      v_one.after_seconds := greatest(1,
        pg_catalog.ceil((1 - v_one.level) * p_policy.rate_seconds / p_policy.rate_limit)::integer);
    end if;
  end if;
  return v_one;
end $$;

-- limiter_state_of(), with the lock of the limit held if it allows runs; allowed is null if another session
-- holds that lock (with p_wait: for longer than 50 ms). The function checks the limit before it tries the
-- lock, so that claims at a limit do not block claims that may start.
create or replace function tock.acquire_from_limiter(p_queue text, p_policy tock.queues, p_wait boolean)
returns tock.limiter_state language plpgsql volatile as $$
declare
  v_one tock.limiter_state := tock.limiter_state_of(p_queue, p_policy);
  v_key integer := tock.named_key('limit', p_queue);
begin
  if v_one.allowed < 1 and v_one.unwritten is not true then
    return v_one;
  elsif pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), v_key)
    or (p_wait and tock.wait_for_lock(v_key))
  then
    v_one := tock.limiter_state_of(p_queue, p_policy);
    if v_one.unwritten then
      perform tock.record_limiter_state(p_queue, p_policy, v_one, null, 0);
      v_one.number := coalesce(v_one.number, 0) + 1;
    end if;
    return v_one;
  end if;
  v_one.allowed := null;
  v_one.after_seconds := null;
  return v_one;
end $$;

-- Records what a claim has used of the limits of a queue; 40001 if its state was outdated. If two sessions
-- are ever here at the same time, for example with an old snapshot, one of them finds its row deleted or the
-- next number in use, and raises 40001.
create or replace function tock.record_limiter_state(
  p_queue text, p_policy tock.queues, p_asked tock.limiter_state, p_token uuid, p_started integer)
returns void language plpgsql volatile as $$
declare
  v_before bigint := coalesce(p_asked.number, 0);
  v_own_transaction boolean := true;
begin
  if p_asked.number is null then
    insert into tock.queue_limiter_state (queue, number) values (p_queue, 0) on conflict do nothing;
    v_own_transaction := found;
  elsif v_before > 0 then
    delete from tock.queue_limiter_state a where a.queue = p_queue and a.number = v_before;
    v_own_transaction := found;
  end if;
  if v_own_transaction then
    insert into tock.queue_limiter_state (queue, number, taken_at, level, limited_at, seen_at, leases)
      values (p_queue, v_before + 1, p_asked.taken_at, p_asked.level - p_started, p_policy.limited_at,
        p_asked.seen_at,
        case when p_asked.seen_at < p_asked.taken_at - interval '10 seconds'
          then pg_catalog.array_remove(p_asked.leases || p_token, null) end)
      on conflict do nothing;
    v_own_transaction := found;
  end if;
  if not v_own_transaction then
    raise exception using errcode = '40001',
      message = 'another session has claimed from this queue meanwhile',
      hint = 'repeat the call';
  end if;
end $$;

-- The limits of a queue: at most max_running runs at a time, and rate_limit starts per rate_seconds from a
-- bucket of rate_burst. A claim decides. It holds the lock of the limit from before it counts until it
-- commits. queue_limiter_state has the tokens of the open leases. The tables of leases and results say which
-- of their runs have ended, so the end of a run writes nothing here. An expired lease counts until it is
-- reaped: its worker may still be at work.

-- All open leases of a queue, read from the tables; null while another session is claiming from it. Claims
-- that did not yet see the limit in their policy did not record their leases. So for ten seconds after a
-- claim first saw the limit, open leases are read from the tables. By then each of those older claims shows
-- as a lease, or as a stream lock of another session. The first claim records the start of these ten seconds.
-- The first claim after them records the open leases, even if it claims nothing.
create or replace function tock.open_leases(p_queue text)
returns uuid[] language plpgsql volatile as $$
declare
  v_segment integer;
  v_part uuid[];
  v_leases uuid[] := '{}';
begin
  if exists (
    select from pg_catalog.pg_locks l
    join tock.streams s on s.number = case when l.objid::bigint > 4293918720 then 4294967295 - l.objid::bigint
      else l.objid::bigint end
    where l.locktype = 'advisory' and l.granted and l.classid = 'tock'::regnamespace
      and l.database = (select d.oid from pg_catalog.pg_database d
        where d.datname = pg_catalog.current_database())
      and l.virtualtransaction !~ '/0$' and l.pid is distinct from pg_catalog.pg_backend_pid()
      and s.queue = p_queue)
  then
    return null;
  end if;
  foreach v_segment in array tock.open_segments() loop
    execute pg_catalog.format($q$
      select array(
        select distinct l.token from tock.leases_%s l
        cross join lateral (select s.queue from tock.streams s where s.number = l.stream offset 0) s
        where l.closed_at is null and s.queue = $1)$q$, v_segment)
      into v_part using p_queue;
    v_leases := v_leases || v_part;
  end loop;
  return v_leases;
end $$;
