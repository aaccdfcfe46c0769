-- Admits waiters at locked concurrency keys as far as their limits allow, first come, first served; returns
-- the number.
--
-- The caller has locked the rows of the concurrency keys in an earlier statement. Other sessions that held
-- these locks have committed, so this call sees which tasks they admitted or made wait. The wait list is read
-- upwards from the last admitted ticket: while an old transaction is open, the list below is full of dead
-- entries. A ticket that was committed late lies below. A scan from the beginning finds it, every five
-- seconds and for at most a twentieth of the time. For each key, a call turns up to 1,000 expired waiters
-- into runs that claims skip. The concurrency key of a unique key with on_conflict rerun admits one task,
-- whatever the queue allows.
--
-- A call may have many keys. So the long arrays grow element by element: a slice or a concatenation would
-- copy the whole array for each key.
create or replace function tock.admit_waiters(p_locked tock.concurrency_keys[], p_sweep boolean default false)
returns integer language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_admissions tock.concurrency_admissions[] := array(
    select (
      select t::tock.concurrency_admissions from tock.concurrency_admissions t
      where t.queue = g.queue and t.concurrency_key = g.concurrency_key
      order by t.queue desc, t.concurrency_key desc, t.number desc limit 1)
    from unnest(p_locked) with ordinality g order by g.ordinality);
  v_ids bigint[] := array(
    select i.id from unnest(v_admissions) with ordinality t
    cross join lateral unnest(t.holders) with ordinality i (id, n) order by t.ordinality, i.n);
  v_states tock.resolved_task[] := pg_catalog.array_fill(null::tock.resolved_task,
    array[pg_catalog.cardinality(v_ids)]);
  v_at tock.resolved_task;
  v_here tock.resolved_task[];
  v_seen integer := 0;
  v_n integer := 0;
  v_concurrency_key tock.concurrency_keys;
  v_admission tock.concurrency_admissions;
  v_policy tock.queues;
  v_own boolean;
  v_next tock.concurrency_admissions;
  v_still record;
  v_free integer;
  v_rate integer;
  v_seconds integer;
  v_burst integer;
  v_bottom boolean;
  v_live bigint[];
  v_expired bigint[];
  v_upto bigint;
  v_last bigint;
  v_gone integer;
  v_more bigint[];
  v_due timestamptz;
  v_id bigint;
  v_attempts bigint[];
  v_in bigint[] := '{}';
  v_admitted integer := 0;
begin
  for v_at in select w.* from tock.resolve_tasks(v_ids) w loop
    v_states[v_at.n] := v_at;
  end loop;
  foreach v_concurrency_key in array p_locked loop
    v_n := v_n + 1;
    v_admission := v_admissions[v_n];
    if v_policy.name is distinct from v_concurrency_key.queue then
      v_policy := tock.policy(v_concurrency_key.queue);
    end if;
    v_own := v_concurrency_key.concurrency_key like 'key:%';
    v_next := row(coalesce(v_admission.number, 0) + 1, coalesce(v_admission.last_ticket, 0), null,
      pg_catalog.clock_timestamp(), v_admission.scanned, null, v_concurrency_key.queue,
      v_concurrency_key.concurrency_key, '{}')::tock.concurrency_admissions;
    v_here := '{}';
    for v_k in 1 .. coalesce(pg_catalog.cardinality(v_admission.holders), 0) loop
      v_seen := v_seen + 1;
      v_here := v_here || v_states[v_seen];
    end loop;
    v_still := tock.current_holders(v_concurrency_key.queue, v_own or v_policy.concurrency_retry = 'keep',
      v_here, p_sweep);
    v_next.holders := v_still.holders;
    v_attempts := array(
      select w.position from tock.waiting w where w.position = any (v_still.back)
        and not v_concurrency_key.paused
      order by w.position for update skip locked);
    v_free := case when v_concurrency_key.paused then 0
      when v_own then coalesce(v_concurrency_key.concurrency_limit, 1)
      else coalesce(v_concurrency_key.concurrency_limit,
        v_policy.concurrency_limit) end - pg_catalog.cardinality(v_next.holders);
    v_rate := coalesce(v_concurrency_key.concurrency_rate_limit,
      case when not v_own then v_policy.concurrency_rate_limit end);
    v_seconds := coalesce(v_concurrency_key.concurrency_rate_seconds, v_policy.concurrency_rate_seconds);
    if v_rate is not null then
      v_burst := coalesce(v_concurrency_key.concurrency_rate_burst, v_policy.concurrency_rate_burst, v_rate);
      v_next.level := least(v_burst::float8, coalesce(v_admission.level, v_burst)
        + greatest(extract(epoch from v_next.admitted_at - v_admission.admitted_at)::float8, 0)
          * v_rate / v_seconds);
      v_free := least(v_free, pg_catalog.floor(v_next.level + 1e-9)::integer);
    end if;
    if v_admission.alarm is not null then
      v_due := v_next.admitted_at + interval '1 second' * (1 - v_next.level) * v_seconds / v_rate;
      -- if the last waiter still waits for the bucket, it gets the time that the rate gives now, or becomes
      -- an ordinary waiter again
      update tock.waiting w set due_at = case when v_next.level < 1 then v_due else 'infinity' end
      where w.position = (
          select a.position from tock.waiting a
          where a.position = v_admission.alarm and a.ticket is not null and a.due_at < 'infinity'
          for update skip locked)
        and (coalesce(v_next.level, 1) >= 1
          or w.due_at not between v_due - interval '10 ms' and v_due + interval '10 ms');
      v_next.alarm := (
        select a.position from tock.waiting a where a.position = v_admission.alarm and a.ticket is not null
          and a.due_at < 'infinity');
    end if;
    v_more := '{}';
    v_gone := 0;
    v_bottom := v_free > 0
      and (p_sweep or coalesce(v_admission.scanned < v_next.admitted_at - interval '5 seconds', true));
    for v_scan in 1 .. case when v_bottom then 1 else 2 end loop
      v_last := case when v_scan = 1 and not v_bottom then v_next.last_ticket else 0 end;
      while v_free > 0 and v_gone < 1000 loop
        select pg_catalog.array_agg(h.position order by h.ticket) filter (where not h.expired),
            pg_catalog.array_agg(h.position) filter (where h.expired), max(h.ticket)
          into v_live, v_expired, v_upto
        from (
          select s.*, count(*) filter (where not s.expired) over (order by s.ticket) as alive
          from (
            select w.position, w.ticket,
              coalesce((w.options ->> 'expires_at')::timestamptz <= v_next.admitted_at, false) as expired
            from tock.waiting w
            where w.queue = v_concurrency_key.queue and w.concurrency_key = v_concurrency_key.concurrency_key
              and w.lost >= 0 and w.due_at = 'infinity' and w.ticket > v_last
              and (v_scan = 1 or w.ticket <= coalesce(v_admission.last_ticket, 0))
              and w.position <> all (v_still.back)
            order by w.queue, w.concurrency_key, w.ticket limit v_free + least(v_gone, 50)
            for update skip locked) s) h
        where h.alive < v_free or (h.alive = v_free and not h.expired);
        exit when v_upto is null;
        v_last := v_upto;
        v_more := v_more || coalesce(v_live, '{}');
        v_attempts := v_attempts || coalesce(v_expired, '{}');
        v_free := v_free - coalesce(pg_catalog.cardinality(v_live), 0);
        v_gone := v_gone + coalesce(pg_catalog.cardinality(v_expired), 0);
      end loop;
    end loop;
    if v_bottom then
      v_next.scanned := v_next.admitted_at + 20 * (pg_catalog.clock_timestamp() - v_next.admitted_at);
    end if;
    if pg_catalog.cardinality(v_more) > 0 then
      v_next.last_ticket := greatest(v_next.last_ticket, (
        select max(w.ticket) from tock.waiting w where w.position = any (v_more)));
      v_next.holders := v_next.holders || array(
        select t.id from (
          select distinct coalesce(w.task_id, tock.id_at(w.position, 0)) as id from tock.waiting w
          where w.position = any (v_more)) t
        where t.id <> all (v_next.holders));
      v_next.level := v_next.level - pg_catalog.cardinality(v_more);
      v_attempts := v_attempts || v_more;
    end if;
    -- The last waiter gets as its due time the moment when the bucket holds one again; promotion then checks
    -- this key. It is the last one, so no other waits behind it.
    if v_next.level < 1 and v_next.alarm is null and not v_concurrency_key.paused then
      v_next.alarm := (
        select w.position from tock.waiting w
        where w.queue = v_concurrency_key.queue and w.concurrency_key = v_concurrency_key.concurrency_key
          and w.lost >= 0 and w.due_at = 'infinity' and w.ticket > 0
          and w.position <> all (v_attempts)
        order by w.queue desc, w.concurrency_key desc, w.ticket desc limit 1 for update skip locked);
      update tock.waiting w
      set due_at = v_next.admitted_at + interval '1 second' * (1 - v_next.level) * v_seconds / v_rate
      where w.position = v_next.alarm;
    end if;
    if pg_catalog.cardinality(v_more) > 0 or v_next.alarm is distinct from v_admission.alarm or v_bottom then
      insert into tock.concurrency_admissions select v_next.*;
      delete from tock.concurrency_admissions t where t.queue = v_concurrency_key.queue
        and t.concurrency_key = v_concurrency_key.concurrency_key
        and t.number <= v_next.number - 100;
    end if;
    v_admitted := v_admitted + pg_catalog.cardinality(v_more);
    foreach v_id in array v_attempts loop
      v_in := v_in || v_id;
    end loop;
  end loop;
  if pg_catalog.cardinality(v_in) > 0 then
    perform tock.make_ready(v_in);
  end if;
  return v_admitted;
end $$;
