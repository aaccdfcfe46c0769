-- Locks concurrency keys and returns the locked ones. With p_wait, waits up to 100 ms for all of them first;
-- after that, and otherwise, takes only those that are free. A task with a concurrency key waits in the wait
-- list of that key. A session that locks the row of the key admits waiters in the order of their tickets, as
-- far as the limit allows. An admitted task is a holder until its final outcome (with concurrency_retry
-- yield: until an attempt fails). Its state says whether it still holds the key. So nothing has to be
-- released, and no dead task, crash or lost worker blocks a key. An event that frees a key (an end, a claim
-- that skips a cancelled run, a promotion) only checks the key. If it misses the key because the row is
-- locked, the sweep finds the key.
create or replace function tock.lock_concurrency_keys(
  p_queues text[], p_concurrency_keys text[], p_wait boolean)
returns tock.concurrency_keys[] language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_timeout text := pg_catalog.current_setting('lock_timeout');
  v_locked tock.concurrency_keys[];
begin
  -- an old snapshot does not show tasks that other sessions admitted, so the keys are left to the sweep
  if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    return '{}';
  elsif p_wait then
    begin
      perform pg_catalog.set_config('lock_timeout', '100ms', true);
      -- one lookup for each, in the order of all callers: see tock.waiting in 0004_delayed.sql
      v_locked := array(
        select l.key from (select distinct u.queue collate "C", u.concurrency_key collate "C"
          from unnest(p_queues, p_concurrency_keys) u (queue, concurrency_key) order by 1, 2) u
        cross join lateral (
          select g::tock.concurrency_keys as key from tock.concurrency_keys g
          where g.queue = u.queue and g.concurrency_key = u.concurrency_key for update) l);
      perform pg_catalog.set_config('lock_timeout', v_timeout, true);
      return v_locked;
    exception
      when lock_not_available then null;
    end;
  end if;
  return array(
    select l.key from (select distinct u.queue collate "C", u.concurrency_key collate "C"
      from unnest(p_queues, p_concurrency_keys) u (queue, concurrency_key) order by 1, 2) u
    cross join lateral (
      select g::tock.concurrency_keys as key from tock.concurrency_keys g
      where g.queue = u.queue and g.concurrency_key = u.concurrency_key for update skip locked) l);
end $$;

-- Creates concurrency keys at their first use, without those that another transaction is creating. This
-- function never waits: a concurrency key that another transaction is creating is left to the sweep.
create or replace function tock.create_concurrency_keys(p_queues text[], p_concurrency_keys text[])
returns void language plpgsql volatile as $$
begin
  insert into tock.concurrency_keys (queue, concurrency_key)
  select n.queue, n.concurrency_key from (
    select u.* from unnest(p_queues, p_concurrency_keys) u (queue, concurrency_key)
    where (select o.created_at from tock.concurrency_keys o
      where o.queue = u.queue and o.concurrency_key = u.concurrency_key) is null
    offset 0) n
  where pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(),
    tock.creation_lock_of_key(n.queue, n.concurrency_key))
  on conflict do nothing;
exception
  when serialization_failure then null;  -- another session created it after this snapshot was taken
end $$;

-- The second key of the lock for creating a concurrency key, one of 64. There are only 64 such locks, because
-- a maintenance job may create thousands of concurrency keys in one transaction.
create or replace function tock.creation_lock_of_key(p_queue text, p_concurrency_key text)
returns integer language sql immutable as $$
  select tock.named_key('concurrency_key',
    (pg_catalog.hashtext(p_queue || ' ' || p_concurrency_key) & 63)::text)
$$;
