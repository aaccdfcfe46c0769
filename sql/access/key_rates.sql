-- Counts one use of a key; returns true. nextval() of an unlogged sequence counts a use: without a row, WAL,
-- a transaction id or a wait. A read-only server counts nothing.
create or replace function tock.count_key_use(p_prefix text)
returns boolean language sql volatile as $$
  select case when pg_catalog.current_setting('transaction_read_only') = 'off'
    then coalesce(pg_catalog.nextval(pg_catalog.to_regclass('tock.uses_' || pg_catalog.substr(p_prefix, 6))),
      0) >= 0 else true end
$$;

-- Counts a call of a key with a rate in the window of that rate, once per transaction; raises TK429 if the
-- rate is used up. The sequence holds (window << 20) + count. nextval() gives each call its own number, so at
-- most rate_limit pass in a window. The first call in a new window sets the sequence forward, under a lock of
-- that window, after it has checked again; the others wait a moment. Only a call that is suspended between
-- that check and setval() for longer than the window could set the sequence back: the count of the later
-- window then starts again.
create or replace function tock.enforce_key_rate(p_key tock.keys)
returns void language plpgsql volatile as $$
declare
  v_counter regclass := pg_catalog.to_regclass('tock.rate_' || pg_catalog.substr(p_key.prefix, 6));
  v_now double precision;
  v_window bigint;
  v_seen bigint;
begin
  -- one call may authorize several times
  if pg_catalog.current_setting('tock.counted_key', true) is not distinct from p_key.prefix then
    return;
  elsif v_counter is null then
    perform tock.refuse(503, 'the request counter of this key is missing', 'Authorization',
      'select tock.run_maintenance(''record_key_uses'') creates it');
  end if;
  for v_scan in 1 .. 10 loop
    v_now := extract(epoch from pg_catalog.clock_timestamp());
    v_window := pg_catalog.floor(v_now / p_key.rate_seconds);
    v_seen := pg_catalog.pg_sequence_last_value(v_counter);
    -- the next window too: a clock may be set back a little
    if tock.position_of(v_seen) between v_window and v_window + 1 then
      exit when tock.stream_of(v_seen) >= p_key.rate_limit;
      if pg_catalog.nextval(v_counter) & 1048575 <= p_key.rate_limit then
        perform pg_catalog.set_config('tock.counted_key', p_key.prefix, true);
        return;
      end if;
    elsif pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(),
      tock.named_key('rate', p_key.prefix || ' ' || v_window))
    then
      if not coalesce(pg_catalog.pg_sequence_last_value(v_counter) >> 20 between v_window and v_window + 1,
        false)
      then
        perform pg_catalog.setval(v_counter, v_window << 20);
      end if;
    else
      perform pg_catalog.pg_sleep(0.001 * v_scan * v_scan);
    end if;
  end loop;
  perform tock.refuse(429,
    pg_catalog.format('this key has used up its rate of %s requests in %s seconds', p_key.rate_limit,
      p_key.rate_seconds),
    'Authorization', pg_catalog.format('try again in %s seconds',
      greatest(1, pg_catalog.ceil((v_window + 1) * p_key.rate_seconds - v_now))::integer));
end $$;

-- Drops the counters of a key that ended an hour ago, unless they are locked. No call uses a key that ended
-- an hour ago. A counter that a dump or an open transaction has locked is dropped later: while this function
-- waited for it, no use would be recorded. A call that extends an expired key holds the row of the key, which
-- is then skipped.
create or replace function tock.drop_key_counters(p_prefix text)
returns void language plpgsql volatile
set lock_timeout = '10ms' as $$
begin
  perform from tock.keys k
  where k.prefix = p_prefix and least(k.revoked_at, k.expires_at) < pg_catalog.now() - interval '1 hour'
  for no key update skip locked;
  if found then
    execute pg_catalog.format('drop sequence if exists tock.%I, tock.%I',
      'uses_' || pg_catalog.substr(p_prefix, 6), 'rate_' || pg_catalog.substr(p_prefix, 6));
  end if;
exception
  when lock_not_available then null;
end $$;

-- Records which of up to p_limit keys were used since the last call, and makes and drops their counters;
-- returns the number of used keys. The value recorded last is at most that of the sequence, unless a crash
-- has set the sequence back.
create or replace function tock.record_key_uses(p_limit integer default 500)
returns integer language plpgsql volatile as $$
declare
  v_count integer;
  v_key record;
  v_after text := coalesce((select d.reached_key[1] from tock.maintenance_jobs d
    where d.name = 'record_key_uses'), '');
  v_keys text[] := array(select k.prefix from tock.keys k where k.prefix > v_after order by k.prefix
    limit p_limit);
begin
  for v_key in
    select k.prefix, k.rate_limit,
      least(k.revoked_at, k.expires_at) < pg_catalog.now() - interval '1 hour' as is_over,
      pg_catalog.to_regclass('tock.uses_' || pg_catalog.substr(k.prefix, 6)) as uses,
      pg_catalog.to_regclass('tock.rate_' || pg_catalog.substr(k.prefix, 6)) as rate
    from tock.keys k where k.prefix = any (v_keys)
  loop
    if v_key.is_over and v_key.uses is not null then
      perform tock.drop_key_counters(v_key.prefix);
    elsif v_key.is_over is not true
      and (v_key.uses is null or v_key.rate_limit is not null and v_key.rate is null)
    then
      perform tock.make_key_counters(v_key.prefix, v_key.rate_limit is not null);
    end if;
  end loop;
  insert into tock.key_uses (prefix) select k from unnest(v_keys) k on conflict do nothing;
  update tock.key_uses u set uses = u.uses + case when n.value >= u.seen then n.value - u.seen
    else n.value end,
    seen = n.value, last_used_at = case when n.value > 0 then pg_catalog.clock_timestamp()
      else u.last_used_at end
  from (
    select k.prefix, coalesce(pg_catalog.pg_sequence_last_value(
      pg_catalog.to_regclass('tock.uses_' || pg_catalog.substr(k.prefix, 6))), 0) as value
    from unnest(v_keys) k (prefix)) n
  where u.prefix = n.prefix and u.seen <> n.value;
  get diagnostics v_count = row_count;
  -- Each sequence that is read stays locked until the transaction ends. A call therefore reads at most
  -- p_limit keys, and the next call continues after them.
  update tock.maintenance_jobs d set reached_key = nullif(v_keys[p_limit:p_limit], '{}')
  where d.name = 'record_key_uses' and d.reached_key is distinct from nullif(v_keys[p_limit:p_limit], '{}');
  return v_count;
end $$;
