-- Schedules a recheck of children in a moment, including those whose rows are locked. The call that ends a
-- parent only tries to lock the rows of its children. A child whose row is locked gets a row in
-- tock.dependency_rechecks, which the next promotion reads.
create or replace function tock.schedule_recheck(p_children bigint[])
returns void language plpgsql volatile as $$
declare
  v_moved bigint[];
begin
  with moved as (
    update tock.waiting w set due_at = pg_catalog.clock_timestamp() + interval '0.05 s'
    where w.position = any (array(
      select l.position from tock.waiting l where l.position = any (p_children)
        and l.due_after_parents is not null
      order by l.position for update skip locked))
    returning w.position)
  select pg_catalog.array_agg(t.position) into v_moved from moved t;
  -- except instead of <> all, which would scan the array for each id
  insert into tock.dependency_rechecks (child)
  select w.position from tock.waiting w
  where w.position = any (array(select unnest(p_children) except select unnest(v_moved)))
    and w.due_after_parents is not null;
end $$;

-- The number after which the newest p_count dependency_rechecks lie. Call it as (select
-- tock.rechecks_from(n)): the sub-select bounds the index scan. Then at most the p_count newest entries are
-- read, dead or not, even while an old transaction is open. The sweep reads all entries; otherwise older ones
-- would stay for ever.
create or replace function tock.rechecks_from(p_count integer)
returns bigint language sql volatile as $$
  select coalesce(pg_catalog.pg_sequence_last_value('tock.dependency_rechecks_number_seq'::regclass),
    0) - p_count
$$;

-- Schedules a recheck of children that could not be notified before.
create or replace function tock.process_rechecks(p_sweep boolean)
returns void language plpgsql volatile as $$
declare
  v_children bigint[];
begin
  with rechecks as (
    delete from tock.dependency_rechecks n
    where n.number = any (array(
      select o.number from tock.dependency_rechecks o
      where o.number > (select case when p_sweep then 0 else tock.rechecks_from(1000) end)
        and o.not_before <= pg_catalog.clock_timestamp()
      order by o.number limit case when p_sweep then 10000 else 1000 end for update skip locked))
    returning n.*)
  select pg_catalog.array_agg(distinct coalesce(n.child, x.child)) into v_children
  from rechecks n
  left join lateral (
    select x.child from tock.dependency_waits x
    where x.stream = n.stream and x.position > n.after_position and x.position <= n.upto offset 0) x on true
  where n.child is not null or x.child is not null;
  if v_children is not null then
    perform tock.schedule_recheck(v_children);
  end if;
end $$;

-- Locks up to a thousand children with up to 1 MiB of options for a check and returns them; the others get a
-- recheck by promotion.
create or replace function tock.lock_dependents(p_children bigint[])
returns bigint[] language plpgsql volatile as $$
declare
  v_locked bigint[] := array(
    select c.position from (
      select l.position, sum(l.size) over (order by l.position) - l.size as before
      from (
        select w.position, pg_catalog.pg_column_size(w.options) as size
        from tock.waiting w where w.position = any (p_children) and w.due_after_parents is not null
        order by w.position limit 1000 for update skip locked) l) c
    where c.before < 1048576);
begin
  if pg_catalog.cardinality(p_children) > pg_catalog.cardinality(v_locked) then
    perform tock.schedule_recheck(array(select unnest(p_children) except select unnest(v_locked)));
  end if;
  return v_locked;
end $$;
