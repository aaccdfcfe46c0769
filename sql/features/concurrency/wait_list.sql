-- Puts due waiting tasks into the wait lists of their concurrency keys and admits as many as the limits
-- allow. The caller holds the row locks. The tasks join the wait list first (due at infinity), whether or not
-- the row of the concurrency key can be locked.
create or replace function tock.join_wait_lists(p_positions bigint[])
returns void language plpgsql volatile as $$
declare
  v_queues text[];
  v_concurrency_keys text[];
begin
  if pg_catalog.cardinality(p_positions) = 0 then
    return;
  end if;
  perform tock.promote_from(p_positions);
  update tock.waiting w set due_at = 'infinity', ticket = n.ticket, waits_for = null
  from (
    select c.position, coalesce(c.ticket, pg_catalog.nextval('tock.positions')) as ticket
    from (
      select o.position, o.ticket from tock.waiting o where o.position = any (p_positions)
      order by o.due_at, o.position offset 0) c) n
  where w.position = any (array[n.position]);
  select pg_catalog.array_agg(g.queue), pg_catalog.array_agg(g.concurrency_key)
  into v_queues, v_concurrency_keys
  from (
    select distinct w.queue, w.concurrency_key from tock.waiting w where w.position = any (p_positions)) g;
  perform tock.create_concurrency_keys(v_queues, v_concurrency_keys);
  perform tock.admit_waiters(tock.lock_concurrency_keys(v_queues, v_concurrency_keys, false));
end $$;

-- Moves the due time from which promotion reads above these waiting rows. They stay and get another due time.
-- late_from() counts promotions. So one promotion without a run stands for up to ten rows: with one for each
-- row, late_from() would look back only a tenth as far.
create or replace function tock.promote_from(p_positions bigint[])
returns void language plpgsql volatile as $$
begin
  insert into tock.promotions (position, run_id, due_at)
  select pg_catalog.nextval('tock.positions'), pg_catalog.nextval('tock.positions') << 20, d.due_at
  from (
    select max(d.due_at) as due_at from (
      select w.due_at, row_number() over (order by w.due_at) as n from tock.waiting w
      where w.position = any (p_positions) and w.due_at <= pg_catalog.clock_timestamp()) d
    group by (d.n - 1) / 10 offset 0) d;
end $$;

-- Admits waiters at these concurrency keys, if any, as far as their limits allow.
create or replace function tock.admit_at_keys(
  p_queues text[], p_concurrency_keys text[], p_wait boolean default true)
returns void language plpgsql volatile as $$
begin
  if p_concurrency_keys <> '{}' then
    perform tock.admit_waiters(tock.lock_concurrency_keys(p_queues, p_concurrency_keys, p_wait));
  end if;
end $$;

-- Admits waiters that were missed; returns the number. A call checks up to 500 concurrency keys with waiters,
-- from where the last call stopped.
create or replace function tock.sweep_wait_lists()
returns integer language plpgsql volatile as $$
declare
  v_after text[] := (select d.reached_key from tock.maintenance_jobs d where d.name = 'promote');
  v_queues text[];
  v_concurrency_keys text[];
  v_admitted integer := 0;
begin
  with recursive standing as (
    (select w.queue, w.concurrency_key from tock.waiting w
     where w.lost >= 0 and w.ticket is not null and (w.queue, w.concurrency_key)
       > (coalesce(v_after[1], ''), coalesce(v_after[2], ''))
     order by w.queue, w.concurrency_key limit 1)
    union all
    select n.queue, n.concurrency_key from standing s
    cross join lateral (
      select w.queue, w.concurrency_key from tock.waiting w
      where w.lost >= 0 and w.ticket > 0 and (w.queue, w.concurrency_key) > (s.queue, s.concurrency_key)
      order by w.queue, w.concurrency_key limit 1) n)
  select pg_catalog.array_agg(s.queue), pg_catalog.array_agg(s.concurrency_key)
  into v_queues, v_concurrency_keys
  from (select * from standing limit 500) s;
  if v_concurrency_keys is not null then
    perform tock.create_concurrency_keys(v_queues, v_concurrency_keys);
    v_admitted := tock.admit_waiters(tock.lock_concurrency_keys(v_queues, v_concurrency_keys, false), true);
  end if;
  v_after := case when pg_catalog.cardinality(v_concurrency_keys) = 500
    then array[v_queues[500], v_concurrency_keys[500]] end;
  update tock.maintenance_jobs d set reached_key = v_after
  where d.name = 'promote' and d.reached_key is distinct from v_after;
  return v_admitted;
end $$;

-- Those of the waiting tasks p_positions that come after another due task of their concurrency key, which is
-- not among them. A concurrent promotion may hold an earlier task of the same key. That task joins the wait
-- list only when the other transaction commits, and not at all if it rolls back. The later tasks therefore
-- stay for the next promotion. The caller holds the row locks.
create or replace function tock.waiting_behind_others(p_positions bigint[], p_from timestamptz)
returns bigint[] language plpgsql volatile as $$
begin
  if p_positions is null then
    return '{}';
  end if;
  return array(
    with own as materialized (
      select w.queue, w.concurrency_key, w.due_at, w.position from tock.waiting w
      where w.position = any (p_positions) and w.ticket is null
    ), others as (
      select distinct on (e.queue, e.concurrency_key) e.*
      from (select distinct on (o.queue) o.* from own o order by o.queue, o.due_at desc, o.position desc) l
      cross join lateral (
        select w.queue, w.concurrency_key, w.due_at, w.position from tock.waiting w
        where w.lost >= 0 and w.queue = l.queue and w.due_at >= p_from
          and (w.due_at, w.position) < (l.due_at, l.position)
          and w.concurrency_key is not null and w.ticket is null and w.due_after_parents is null
        order by w.queue, w.due_at, w.position offset 0) e
      where e.position not in (select o.position from own o)
      order by e.queue, e.concurrency_key, e.due_at, e.position)
    select o.position from own o join others e using (queue, concurrency_key)
    where (e.due_at, e.position) < (o.due_at, o.position));
end $$;
