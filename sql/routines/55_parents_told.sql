-- How children are told that a parent has ended, or has gone on as another run. The ending call only tries for their rows.
create or replace function tock.look_soon(p_children bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_told bigint[];
begin
  with told as (
    update tock.waiting w set due_at = pg_catalog.clock_timestamp() + interval '0.05 s'
    from (
      select l.position from tock.waiting l where l.position = any (p_children) and l.after_due is not null
      order by l.position for update skip locked) l
    where w.position = l.position
    returning w.position)
  select pg_catalog.array_agg(t.position) into v_told from told t;
  -- except, as <> all looks through the array for each
  insert into tock.nudges (child)
  select w.position from tock.waiting w
  where w.position = any (array(select unnest(p_children) except select unnest(v_told))) and w.after_due is not null;
end $$;

comment on function tock.look_soon is 'Has promotion look at children in a moment, also at those whose row somebody has.';

-- As (select tock.nudged_from(n)), so that it bounds the index: of the newest, dead or not, so many are read and no more
-- beside any held-open transaction. The sweep reads all, or what is older than these would stay for ever.
create or replace function tock.nudged_from(p_count integer)
returns bigint
language sql
volatile
as $$
  select coalesce(pg_catalog.pg_sequence_last_value('tock.nudges_number_seq'::regclass), 0) - p_count
$$;

comment on function tock.nudged_from is 'After which number the newest p_count nudges lie.';

create or replace function tock.heed_nudges(p_sweep boolean)
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_children bigint[];
begin
  with nudged as (
    delete from tock.nudges n
    where n.number = any (array(
      select o.number from tock.nudges o
      where o.number > (select case when p_sweep then 0 else tock.nudged_from(1000) end)
        and o.not_before <= pg_catalog.clock_timestamp()
      order by o.number limit case when p_sweep then 10000 else 1000 end for update skip locked))
    returning n.*)
  select pg_catalog.array_agg(distinct coalesce(n.child, x.child)) into v_children
  from nudged n
  left join lateral (
    select x.child from tock.watches x
    where x.stream = n.stream and x.position > n.after_position and x.position <= n.upto offset 0) x on true
  where n.child is not null or x.child is not null;
  if v_children is not null then
    perform tock.look_soon(v_children);
  end if;
end $$;

comment on function tock.heed_nudges is 'Has promotion look at the children that could not be told before.';

create or replace function tock.lock_children(p_children bigint[])
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_locked bigint[] := array(
    select c.position from (
      select l.position, sum(l.size) over (order by l.position) - l.size as before
      from (
        select w.position, pg_catalog.pg_column_size(w.options) as size
        from tock.waiting w where w.position = any (p_children) and w.after_due is not null
        order by w.position limit 1000 for update skip locked) l) c
    where c.before < 1048576);
begin
  if pg_catalog.cardinality(p_children) > pg_catalog.cardinality(v_locked) then
    perform tock.look_soon(array(select unnest(p_children) except select unnest(v_locked)));
  end if;
  return v_locked;
end $$;

comment on function tock.lock_children is 'Locks up to a thousand children to be looked at, with up to 1 MiB of options, and returns them; the others promotion looks at in a moment.';

-- A child that isn't waiting any more has left its watch behind.
create or replace function tock.look_again(p_children bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  if p_children = '{}' then
    return;
  end if;
  perform tock.look_at_parents(tock.lock_children(p_children));
  delete from tock.watches x
  using (
    select y.stream, y.position, y.child from tock.watches y
    where y.child = any (p_children) and (select w.position from tock.waiting w where w.position = y.child) is null
    for update skip locked) y
  where x.stream = y.stream and x.position = y.position and x.child = y.child;
end $$;

comment on function tock.look_again is 'Has children look at their parents.';

-- A snapshot that was taken before this statement shows neither every child nor which other parents have ended.
create or replace function tock.sees_all()
returns boolean
language sql
stable
as $$
  select pg_catalog.current_setting('transaction_isolation') = 'read committed'
$$;

comment on function tock.sees_all is 'Whether each statement of the transaction has a snapshot of its own.';

create or replace function tock.parents_moved(p_ids bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  if not tock.sees_all() then
    insert into tock.nudges (stream, after_position, upto)
    select (i & 1048575)::integer, (i >> 20) - 1, i >> 20 from unnest(p_ids) i;
    return;
  end if;
  perform tock.look_again(array(
    select distinct x.child
    from unnest(p_ids) i
    cross join lateral (
      select x.child from tock.watches x where x.stream = (i & 1048575)::integer and x.position = i >> 20 offset 0) x));
end $$;

comment on function tock.parents_moved is 'Has those that watch these runs or waiting entries look at their parents: they have ended, or gone on as others.';

-- For whoever holds a stream, or gates: it looks at nothing else itself.
create or replace function tock.parents_passed(p_stream integer, p_after bigint, p_upto bigint)
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_children bigint[] := array(
    select x.child from tock.watches x where x.stream = p_stream and x.position > p_after and x.position <= p_upto
    order by x.stream, x.position limit 10000);
begin
  if not tock.sees_all() then
    insert into tock.nudges (stream, after_position, upto) values (p_stream, p_after, p_upto);
  elsif v_children <> '{}' then
    perform tock.look_soon(v_children);
  end if;
end $$;

comment on function tock.parents_passed is 'Has promotion look at those that watch what was passed over in a stream, up to 10,000.';

create or replace function tock.lease_parents_moved(p_lease uuid, p_epoch integer)
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_children bigint[];
begin
  if not tock.sees_all() then
    execute pg_catalog.format(
      'insert into tock.nudges (stream, after_position, upto) select l.stream, l.after_position, l.last_position from (%s) l',
      tock.lease_rows(p_epoch)) using p_lease;
    return;
  end if;
  execute pg_catalog.format($q$
    select array(
      select distinct x.child from (%s) l
      cross join lateral (
        select x.child from tock.watches x
        where x.stream = l.stream and x.position > l.after_position and x.position <= l.last_position offset 0) x)$q$,
    tock.lease_rows(p_epoch)) into v_children using p_lease;
  perform tock.look_again(v_children);
end $$;

comment on function tock.lease_parents_moved is 'parents_moved() for all runs of a lease.';

-- A wish that was committed while the task's last attempt was being ended.
create or replace function tock.still_wanted(p_children bigint[])
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_tasks bigint[] := array(
    select w.task_id from tock.waiting w
    where w.position = any (p_children) and w.after_due is not null and w.task_id is not null);
  v_off bigint[];
begin
  if v_tasks = '{}' then
    return p_children;
  end if;
  v_off := array(
    select w.position from tock.waiting w
    where w.position = any (p_children) and w.after_due is not null and w.task_id in (
      select i.id from unnest(tock.wishes(v_tasks)) i where i.cancelled));
  if v_off = '{}' then
    return p_children;
  end if;
  perform tock.make_ready(v_off, true);
  return array(select unnest(p_children) except select unnest(v_off));
end $$;

comment on function tock.still_wanted is 'Children without those that somebody cancelled while what they had run was being completed: these are ended.';
