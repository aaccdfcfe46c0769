-- Raises TK422 for an invalid concurrency key.
create or replace function tock.check_concurrency_key(p_queue text, p_concurrency_key text)
returns void language plpgsql volatile as $$
begin
  perform tock.check_queue(p_queue);
  if p_concurrency_key is null or pg_catalog.length(p_concurrency_key) not between 1 and (
    case when p_concurrency_key like 'key:%' then 504 else 200 end)
  then
    perform tock.refuse(422, 'a concurrency key must be a string of 1 to 200 characters', 'concurrency_key');
  elsif pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
    perform tock.refuse(409,
      'concurrency keys need read committed: an older snapshot does not show recent admissions', null,
      'call it in its own transaction, or begin this one with isolation level read committed');
  end if;
end $$;

create or replace function tock.concurrency_keys(
  p_queue text, p_concurrency_key text default null, p_after text default null, p_limit integer default 100)
returns table (
  concurrency_key text, paused boolean, concurrency_limit integer, concurrency_rate_limit integer,
  concurrency_rate_seconds integer, concurrency_rate_burst integer, holders bigint[], waiting integer,
  own_settings text[]) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_policy tock.queues := tock.policy(p_queue);
begin
  perform tock.check_queue_name(p_queue);
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  return query
    select g.concurrency_key, g.paused,
      coalesce(g.concurrency_limit, case when g.concurrency_key like 'key:%' then 1
        else v_policy.concurrency_limit end),
      coalesce(g.concurrency_rate_limit, case when g.concurrency_key not like 'key:%'
        then v_policy.concurrency_rate_limit end),
      coalesce(g.concurrency_rate_seconds, v_policy.concurrency_rate_seconds),
      coalesce(g.concurrency_rate_burst, v_policy.concurrency_rate_burst),
      tock.holders_of(g.queue, g.concurrency_key, v_policy.concurrency_retry),
      (select count(*)::integer from (
        select from tock.waiting w
        where w.lost >= 0 and w.queue = g.queue and w.concurrency_key = g.concurrency_key and w.ticket > 0
        order by w.queue, w.concurrency_key, w.ticket limit 1000) w),
      array(select pg_catalog.jsonb_object_keys(pg_catalog.jsonb_strip_nulls(pg_catalog.to_jsonb(g)
        - '{queue,concurrency_key,paused,created_at}'::text[])))
    from (select o.* from tock.concurrency_keys o
      where o.queue = p_queue and (p_concurrency_key is null or o.concurrency_key = p_concurrency_key)
        and o.concurrency_key > coalesce(p_after, '')
      order by o.queue, o.concurrency_key limit p_limit) g
    order by g.concurrency_key;
end $$;

comment on function tock.concurrency_keys is
  'The concurrency keys of a queue that tasks have used or that have settings, after p_after: their '
  'settings, holders, number of waiters (up to 1,000), and the names of their own settings.';

-- The admitted tasks that still hold a concurrency key.
create or replace function tock.holders_of(p_queue text, p_concurrency_key text, p_retry text)
returns bigint[] language plpgsql volatile as $$
begin
  return (
    select s.holders from tock.current_holders(p_queue, p_retry = 'keep'
      or p_concurrency_key like 'key:%', array(
      select w from tock.resolve_tasks((
        select t.holders from tock.concurrency_admissions t
        where t.queue = p_queue and t.concurrency_key = p_concurrency_key
        order by t.queue desc, t.concurrency_key desc, t.number desc limit 1)) w order by w.n), false) s);
end $$;

-- A null setting follows the queue again. Waiters are admitted as far as the new settings allow.
create or replace function tock.put_concurrency_key(
  p_queue text, p_concurrency_key text, p_settings jsonb default '{}')
returns tock.concurrency_keys language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_other text;
  v_settings jsonb;
  v_row tock.concurrency_keys;
begin
  perform tock.check_concurrency_key(p_queue, p_concurrency_key);
  if pg_catalog.jsonb_typeof(p_settings) is distinct from 'object' then
    perform tock.refuse(422, 'settings must be an object', 'settings');
  end if;
  select k into v_other from pg_catalog.jsonb_object_keys(p_settings) k
  where k not in ('concurrency_limit', 'concurrency_rate_limit', 'concurrency_rate_seconds',
    'concurrency_rate_burst', 'paused') limit 1;
  if found then
    perform tock.refuse(422, 'a concurrency key has no setting ' || v_other, v_other,
      'settings: concurrency_limit, concurrency_rate_limit, concurrency_rate_seconds, '
      'concurrency_rate_burst, paused');
  end if;
  v_settings := p_settings || tock.check_policy(pg_catalog.jsonb_strip_nulls(p_settings)
    || case when p_settings -> 'paused' = 'null' then '{"paused": null}' else '{}' end::jsonb);
  -- create_concurrency_keys() in other sessions skips the key while this lock is held
  perform pg_catalog.pg_advisory_xact_lock(tock.lock_space(),
    tock.creation_lock_of_key(p_queue, p_concurrency_key));
  insert into tock.concurrency_keys (queue, concurrency_key) values (p_queue, p_concurrency_key)
  on conflict do nothing;
  update tock.concurrency_keys g
  set (concurrency_limit, concurrency_rate_limit, concurrency_rate_seconds, concurrency_rate_burst, paused)
    = (n.concurrency_limit, n.concurrency_rate_limit, n.concurrency_rate_seconds,
      n.concurrency_rate_burst, n.paused)
  from tock.concurrency_keys o cross join lateral pg_catalog.jsonb_populate_record(o, v_settings) n
  where g.queue = p_queue and g.concurrency_key = p_concurrency_key and o.queue = p_queue
    and o.concurrency_key = p_concurrency_key
  returning g.* into v_row;
  perform tock.admit_waiters(array[v_row]);
  perform tock.write_audit_log('put_concurrency_key', p_queue,
    p_settings || pg_catalog.jsonb_build_object('concurrency_key', p_concurrency_key));
  return v_row;
end $$;

comment on function tock.put_concurrency_key is
  'Sets the given settings of a concurrency key: concurrency_limit, concurrency_rate_limit, '
  'concurrency_rate_seconds, concurrency_rate_burst, paused. Null follows the setting of the queue again. '
  'Then admits waiters as far as the limits allow.';

create or replace function tock.reset_concurrency_key(p_queue text, p_concurrency_key text)
returns boolean language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_row tock.concurrency_keys;
begin
  perform tock.check_concurrency_key(p_queue, p_concurrency_key);
  update tock.concurrency_keys g set concurrency_limit = null, concurrency_rate_limit = null,
    concurrency_rate_seconds = null, concurrency_rate_burst = null, paused = false
  where g.queue = p_queue and g.concurrency_key = p_concurrency_key returning g.* into v_row;
  if not found then
    return false;
  end if;
  -- the bucket is full, so the waiter that has a due time because of it becomes an ordinary waiter again
  update tock.waiting w set due_at = 'infinity'
  where w.position = (
      select t.alarm from tock.concurrency_admissions t
      where t.queue = p_queue and t.concurrency_key = p_concurrency_key
      order by t.queue desc, t.concurrency_key desc, t.number desc limit 1)
    -- a task that was postponed meanwhile keeps its own time
    and w.concurrency_key = p_concurrency_key and w.queue = p_queue and w.ticket is not null
    and w.due_at < 'infinity';
  insert into tock.concurrency_admissions (number, last_ticket, queue, concurrency_key, holders)
  select t.number + 1, t.last_ticket, t.queue, t.concurrency_key, t.holders
  from tock.concurrency_admissions t where t.queue = p_queue and t.concurrency_key = p_concurrency_key
  order by t.queue desc, t.concurrency_key desc, t.number desc limit 1;
  perform tock.admit_waiters(array[v_row], true);
  perform tock.write_audit_log('reset_concurrency_key', p_queue,
    pg_catalog.jsonb_build_object('concurrency_key', p_concurrency_key));
  return true;
end $$;

comment on function tock.reset_concurrency_key is
  'Resets a concurrency key to the settings of its queue, not paused and with a full bucket, and admits '
  'waiters; false if there is no such key.';
