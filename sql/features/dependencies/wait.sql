-- The runs and waiting tasks among these that another transaction may be about to end, or to make a run. The
-- caller itself holds the row locks of p_own. A call that ends a run, or a promotion that makes a row a run,
-- may have looked for children before a wait was committed, and may itself commit later. Then no event would
-- reach the child. Such a transaction is older than this call and shows in one of three ways. It has locked
-- the row of the lease or of the waiting task. It holds the claim lock of the stream, if it claimed the run
-- too. Or it has written to tock.run_overrides, as a cancel or a change of a ready run does. If none of these
-- applies and the run has not ended, the call that ends it will see every wait committed so far. This
-- function locks nothing, because a completion skips a lease with a locked row, and a claim a locked stream.
-- An xmax older than every transaction that the table may still show is a multixact id, which stands for
-- several lockers: then another recheck follows. A snapshot older than this statement proves nothing.
create or replace function tock.may_be_ending(p_ids bigint[], p_own bigint[])
returns bigint[] language plpgsql volatile as $$
declare
  v_oldest integer := pg_catalog.age(pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot())::xid);
  v_frozen integer;
  v_claiming integer[];
  v_marking boolean;
  v_free bigint[];
  v_part bigint[];
  v_segment integer;
begin
  if p_ids = '{}' or not tock.sees_all() then
    return p_ids;
  end if;
  v_frozen := (select pg_catalog.age(c.relfrozenxid) from pg_catalog.pg_class c
    where c.oid = 'tock.waiting'::regclass);
  v_free := array(
    select tock.id_at(w.position, 0) from tock.waiting w
    where w.position = any (array(select tock.position_of(i) from unnest(p_ids) i
      where tock.stream_of(i) = 0))
      and (w.xmax = '0'::xid or (pg_catalog.age(w.xmax) > v_oldest and pg_catalog.age(w.xmax) <= v_frozen)
        or w.position = any (p_own)));
  -- before leases and overrides are read: a transaction that commits in between is seen there
  select coalesce(pg_catalog.array_agg(l.objid::bigint::integer)
    filter (where l.locktype = 'advisory'), '{}'),
      coalesce(pg_catalog.bool_or(l.locktype = 'relation'
        and coalesce(a.xact_start < pg_catalog.transaction_timestamp(), true)), false)
    into v_claiming, v_marking
  from pg_catalog.pg_locks l
  left join pg_catalog.pg_stat_activity a on a.pid = l.pid
  where (l.locktype = 'advisory' and l.objsubid = 2 and l.classid::bigint = tock.lock_space()
    and l.objid::bigint < 1048576
      or l.locktype = 'relation' and l.relation = 'tock.run_overrides'::regclass
      and l.mode = 'RowExclusiveLock')
    and l.pid is distinct from pg_catalog.pg_backend_pid()
    and l.database = (select d.oid from pg_catalog.pg_database d
      where d.datname = pg_catalog.current_database());
  for v_segment in
    select distinct tock.segment_of(tock.position_of(i)) from unnest(p_ids) i where tock.stream_of(i) <> 0
  loop
    continue when v_segment is null;
    execute pg_catalog.format('select array(select f from tock.runs_in_no_transaction_%s($1, $2, $3, $4) f)',
      v_segment)
      into v_part using p_ids, v_oldest, v_claiming, v_marking;
    v_free := v_free || v_part;
  end loop;
  return array(select unnest(p_ids) except select unnest(v_free));
end $$;

-- Makes children wait for the parents that have not ended, and schedules their next recheck. The time until
-- the next recheck is as long as the child has waited for this parent, so a child seldom makes more than ten
-- rechecks in an hour. An unclaimed parent expires without any event, so its expiry limits that time.
create or replace function tock.wait_for_parents(p_waits tock.dependent[])
returns void language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_long bigint[];
  v_held bigint[];
begin
  if pg_catalog.cardinality(p_waits) = 0 then
    return;
  end if;
  delete from tock.dependency_waits x using unnest(p_waits) o
  where x.child = any (array[o.position])
    and (x.position <> tock.position_of(o.current_id) or x.stream <> tock.stream_of(o.current_id));
  insert into tock.dependency_waits (stream, position, child, n, blocked)
  select tock.stream_of(o.current_id), tock.position_of(o.current_id), o.position, o.upto,
    o.state in ('dead', 'cancelled', 'expired')
  from unnest(p_waits) o on conflict do nothing;
  update tock.dependency_waits x set blocked = true from unnest(p_waits) o
  where x.child = any (array[o.position]) and not x.blocked and o.state in ('dead', 'cancelled', 'expired');
  select pg_catalog.array_agg(distinct o.current_id) filter (
      where x.waiting_since < pg_catalog.transaction_timestamp()),
    pg_catalog.array_agg(distinct o.current_id) filter (
      where o.state in ('waiting', 'ready') and x.waiting_since < v_now - interval '1 second')
    into v_held, v_long  -- in the first second rechecks come often enough without v_long
  from unnest(p_waits) o join tock.dependency_waits x on x.child = any (array[o.position])
  where o.state in ('waiting', 'ready', 'running');
  v_held := tock.may_be_ending(coalesce(v_held, '{}'), array(select o.position from unnest(p_waits) o));
  update tock.waiting w set due_at = least(
    case when i.wait < interval '30 minutes' then v_now + i.wait
      -- on the hour, so that a suspended database wakes up once for all such children
      else pg_catalog.date_trunc('hour', v_now + i.wait) + interval '1 hour' end,
    case when e.expires_at > v_now then e.expires_at + interval '0.05 s' end,
    (w.options ->> 'wake_at')::timestamptz)
  from unnest(p_waits) o
  join tock.dependency_waits x on x.child = any (array[o.position])
  left join (
    select r.id, (r.options ->> 'expires_at')::timestamptz as expires_at
    from tock.stored_runs(v_long) r offset 0) e on e.id = o.current_id
  cross join lateral (
    select greatest(interval '0.1 s', least(v_now - x.waiting_since, case
      -- the wait is not committed yet
      when x.waiting_since >= pg_catalog.transaction_timestamp() then interval '0.1 s'
      -- a concurrent claim may have the run, or a concurrent call may be ending it
      when o.state = 'unsure' or o.current_id = any (v_held) then interval '1 s'
      -- the call that reruns the parent notifies the child
      when o.state in ('dead', 'cancelled', 'expired') then interval '1 day'
      else interval '1 hour' end)) as wait) i
  where w.position = any (array[o.position]);
end $$;

-- The children, of these or of 200 waiting ones, whose awaited parent has ended or continued, and that would
-- recheck it no sooner than in two seconds. This is a safety net in each sweep: every child found here should
-- have been notified. It starts at a random child, so that all children are checked some time.
create or replace function tock.missed_dependents(p_children bigint[] default null)
returns bigint[] language plpgsql volatile
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_lowest bigint := (select x.child from tock.dependency_waits x order by x.child limit 1);
  v_highest bigint := (select x.child from tock.dependency_waits x order by x.child desc limit 1);
  v_from bigint := v_lowest + pg_catalog.floor(pg_catalog.random() * (v_highest - v_lowest))::bigint;
  v_waits tock.dependency_waits[];
begin
  if v_lowest is null then
    return '{}';
  elsif p_children is not null then
    v_waits := array(select x from tock.dependency_waits x where x.child = any (p_children));
  else
    v_waits := array(select x from tock.dependency_waits x where x.child >= v_from
      order by x.child limit 200);
    v_waits := v_waits || array(
      select x from tock.dependency_waits x where x.child < v_from order by x.child
      limit 200 - pg_catalog.cardinality(v_waits));
  end if;
  return array(
    select distinct x.child
    from unnest(v_waits) with ordinality x (position, child, waiting_since, stream, n, blocked, k)
    join tock.waiting w on w.position = any (array[x.child]) and w.due_after_parents is not null
    left join tock.resolve_tasks(array(
      select tock.id_at(x.position, x.stream)
      from unnest(v_waits) with ordinality x (position, child, waiting_since, stream, n, blocked, k)
      order by x.k)) p on p.n = x.k
    where w.due_at > pg_catalog.clock_timestamp() + interval '2 s'
      and (p.state = 'done' or p.current_id <> tock.id_at(x.position, x.stream)
        or (p.state in ('dead', 'cancelled', 'expired') and (not x.blocked
          or (select r.id from tock.reruns r where r.of_id = p.task_id limit 1) is not null))));
end $$;
