-- Takes the locks of events, in order, so that a wait and a signal of one event come one after the other;
-- waits up to 2 s in all, then raises TK503.
create or replace function tock.lock_events(p_events text[])
returns void language plpgsql volatile as $$
declare
  v_until timestamptz := pg_catalog.clock_timestamp() + interval '2 seconds';
  v_key integer;
begin
  for v_key in select distinct tock.named_key('event', e) from unnest(p_events) e order by 1 loop
    while not tock.wait_for_lock(v_key) loop
      if pg_catalog.clock_timestamp() > v_until then
        perform tock.refuse(503, 'an open transaction has signalled this event, or waits for it', null,
          'try again; nothing was changed');
      end if;
    end loop;
  end loop;
end $$;

create or replace function tock.signal(
  p_event text, p_payload jsonb default null, p_request_id text default null)
returns table (accepted boolean, woken integer) language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off set lock_timeout = '2s'
set plan_cache_mode = force_generic_plan as $$
begin
  perform tock.check_read_committed('signal');
  if coalesce(pg_catalog.length(p_event) not between 1 and 200, true) then
    perform tock.refuse(422, 'event must be a string of 1 to 200 characters', 'event');
  elsif pg_catalog.octet_length(p_payload::text) > 262144 then
    perform tock.refuse(422, 'the payload of an event may have up to 262,144 bytes of JSON', 'payload',
      'store large data elsewhere and send its address');
  elsif pg_catalog.length(p_request_id) not between 1 and 200 then
    perform tock.refuse(422, 'request_id must have 1 to 200 characters', 'request_id');
  end if;
  perform tock.lock_events(array[p_event]);
  insert into tock.events (event, payload, request_id)
    values (p_event, nullif(p_payload, 'null'), p_request_id) on conflict do nothing;
  accepted := found or exists (
    select from tock.events e where e.event = p_event and e.request_id = p_request_id);
  woken := tock.wake_waiters(p_event);
  return next;
exception
  when lock_not_available then
    perform tock.refuse(503, 'an open transaction changes a task that waits for this event', null,
      'try again; nothing was changed');
end $$;

comment on function tock.signal is
  'Gives an event its payload, and wakes the tasks that wait for it; returns how many. The first payload of '
  'an event counts, also for tasks that wait for it later, for 30 days. accepted is false if the event had '
  'one before, unless that came with the same request id.';

-- Saves the payload of an event as a step of up to p_limit tasks that wait for it, and makes these ready. The
-- caller holds the lock of the event. A task that does not wait at this moment finds the event when it asks
-- again.
create or replace function tock.wake_waiters(p_event text, p_limit integer default 1000)
returns integer language plpgsql volatile as $$
declare
  v_waits tock.event_waits[] := array(
    select x from tock.event_waits x where x.event = p_event order by x.event, x.task_id limit p_limit);
  v_more boolean := pg_catalog.cardinality(v_waits) = p_limit;
  v_positions bigint[];
  v_ready bigint[];
  v_keyed bigint[];
  v_off bigint[];
begin
  update tock.events e set more_waiters = v_more where e.event = p_event and e.more_waiters <> v_more;
  if v_waits = '{}' then
    return 0;
  end if;
  -- one by one: another order could make the planner read all waiting tasks
  v_positions := array(
    select w.position from unnest(v_waits) x
    cross join lateral (
      select w.position from tock.waiting w
      where w.task_id = x.task_id and w.lost >= 0 and w.options ->> 'suspended' = w.position::text
        -- not if the wait belongs to an earlier stage of the pipeline
        and (select s.event from tock.last_step(x.task_id, x.step, tock.steps_from(x.task_id, w.options)) s
          where s.state = 'waiting') = x.event
      order by w.task_id limit 1) w
    order by w.position);
  v_positions := array(
    select w.position from tock.waiting w where w.position = any (v_positions)
    order by w.position for update);
  perform tock.take_slot();  -- no segment closes from here on, so the new positions are in an open one
  insert into tock.steps (position, task_id, kind, state, name, event, result)
  select pg_catalog.nextval('tock.positions'), x.task_id, 'event', 'done', x.step, x.event, e.payload
  from tock.waiting w
  join unnest(v_waits) x on x.task_id = w.task_id
  cross join (select e.payload from tock.events e where e.event = p_event) e
  where w.position = any (v_positions);
  delete from tock.event_waits x where x.event = p_event
    and x.task_id = any (array(select y.task_id from unnest(v_waits) y));
  -- as in release_dependents(): with a time of now, the next promotion would miss tasks that were due before
  update tock.waiting w set due_at = 'infinity', due_after_parents = null
  where w.position = any (v_positions);
  delete from tock.dependency_waits x where x.child = any (v_positions);
  v_off := array(
    select w.position from tock.waiting w
    where w.position = any (v_positions) and w.task_id in (
      select c.id from unnest(tock.pending_changes(array(
        select y.task_id from unnest(v_waits) y))) c where c.cancelled));
  if v_off <> '{}' then
    perform tock.make_ready(v_off, true);
  end if;
  select pg_catalog.array_agg(w.position) filter (where w.concurrency_key is null),
      pg_catalog.array_agg(w.position) filter (where w.concurrency_key is not null)
    into v_ready, v_keyed
  from tock.waiting w where w.position = any (v_positions);
  if v_ready is not null then
    perform tock.make_ready(v_ready);
  end if;
  perform tock.join_wait_lists(coalesce(v_keyed, '{}'));
  return pg_catalog.cardinality(v_positions) - pg_catalog.cardinality(v_off);
end $$;

-- Wakes up to 10,000 more tasks of events for which more waited than a signal wakes. An event whose tasks
-- another transaction has locked is tried again by the next call.
create or replace function tock.wake_more_waiters()
returns void language plpgsql volatile
set lock_timeout = '50ms' as $$
declare
  v_event text;
begin
  for v_round in 1 .. 10 loop
    v_event := (
      select e.event from tock.events e where e.more_waiters and e.event >= coalesce(v_event, '')
      order by e.event limit 1);
    exit when v_event is null;
    begin
      if pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), tock.named_key('event', v_event)) then
        perform tock.wake_waiters(v_event);
        continue;
      end if;
    exception
      when lock_not_available then null;
    end;
    v_event := v_event || ' ';  -- the next event
  end loop;
end $$;

-- Deletes events after 30 days, links after their end, and waits of tasks that wait no longer.
create or replace function tock.prune_events(p_limit integer)
returns integer language plpgsql volatile as $$
declare
  v_count integer;
begin
  with old as (
    delete from tock.events e where e.event = any (array(
      select o.event from tock.events o
      where o.signalled_at < pg_catalog.now() - interval '30 days'
      order by o.signalled_at limit p_limit))
    returning e.event
  ), expired as (
    delete from tock.event_links l where l.token_hash = any (array(
      select o.token_hash from tock.event_links o
      where o.expires_at < pg_catalog.now() order by o.expires_at limit p_limit))
    returning l.event
  ), idle as (
    delete from tock.event_waits x where x.ctid = any (array(
      select o.ctid from (
        select y.ctid, y.task_id, y.waiting_since from tock.event_waits y
        where y.task_id >= (
          select a.task_id + pg_catalog.floor(pg_catalog.random() * (b.task_id - a.task_id))::bigint
          from (select z.task_id from tock.event_waits z order by z.task_id limit 1) a,
            (select z.task_id from tock.event_waits z order by z.task_id desc limit 1) b)
        order by y.task_id limit p_limit) o
      where o.waiting_since < pg_catalog.now() - interval '1 day'
        and (
          -- with an equality any index would have this order
          select w.position from tock.waiting w where w.task_id = any (array[o.task_id]) and w.lost >= 0
          order by w.task_id limit 1) is null))
    returning x.task_id)
  select (select count(*) from old) + (select count(*) from expired) + (select count(*) from idle)
    into v_count;
  return v_count;
end $$;
