-- Reads upwards from the newest due time promoted: under a held-open transaction the low end is full
-- of dead entries. What was committed after its time lies below and is found by the sweep, and what has a gate,
-- which waits though it is due at once, a little below.
create or replace function tock.promote(p_limit integer default 1000, p_sweep boolean default false)
returns integer
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_from timestamptz := '-infinity';
  v_due bigint[];
  v_gated bigint[];
  v_children bigint[];
  v_count integer;
  v_tasks bigint[];
  v_off bigint[] := '{}';
  v_behind bigint[];
begin
  if p_limit < 0 then
    perform tock.refuse(422, 'p_limit is not negative', 'p_limit');
  end if;
  perform tock.heed_nudges(p_sweep);
  if p_sweep then
    perform tock.look_soon(tock.left_behind());
  end if;
  if not p_sweep then
    v_from := coalesce(
      (select tock.late_from() from tock.gates g order by g.queue, g.gate limit 1),
      (select p.due_at from tock.promotions p order by p.due_at desc limit 1), v_from);
  end if;
  select pg_catalog.array_agg(d.position) filter (where d.after_due is null),
      pg_catalog.array_agg(d.position) filter (where d.gate is not null and d.after_due is null),
      pg_catalog.array_agg(d.position) filter (where d.after_due is not null)
    into v_due, v_gated, v_children
  from (
    select w.position, w.gate, w.after_due from tock.waiting w
    where w.due_at <= v_now and w.due_at >= v_from
    order by w.due_at, w.position limit p_limit for update skip locked) d;
  v_behind := tock.behind_others(v_gated, v_from);
  if v_behind <> '{}' then
    v_gated := array(select unnest(v_gated) except select unnest(v_behind));
    -- they may be all that was found, for as long as another transaction is open
    v_due := array(select unnest(v_due) except select unnest(v_behind)) || array(
      select w.position from tock.waiting w
      where w.due_at <= v_now and w.due_at >= v_from and w.gate is null and w.after_due is null and w.position <> all (v_due)
      order by w.due_at, w.position limit p_limit for update skip locked);
  end if;
  v_count := coalesce(pg_catalog.cardinality(v_due), 0);
  if v_children is not null then
    v_children := tock.lock_children(v_children);
    perform tock.read_on_from(v_children);
    v_count := v_count + tock.look_at_parents(v_children, true);
  end if;
  if coalesce(v_due, '{}') = '{}' then
    return v_count + case when p_sweep then tock.sweep_gates() else 0 end;
  end if;
  -- cancelled while its last attempt was being ended
  v_tasks := array(
    select w.id from unnest(tock.wishes(array(
      select distinct w.task_id from tock.waiting w where w.position = any (v_due) and w.task_id is not null))) w
    where w.cancelled);
  if pg_catalog.cardinality(v_tasks) > 0 then
    v_off := array(select w.position from tock.waiting w where w.position = any (v_due) and w.task_id = any (v_tasks));
    perform tock.make_ready(v_off, true);
  end if;
  v_due := array(select d from unnest(v_due) d where d <> all (v_off));
  if v_gated is not null then
    v_gated := array(select g from unnest(v_gated) g where g <> all (v_off));
    v_due := array(select unnest(v_due) except select unnest(v_gated));
    perform tock.come_to_gates(v_gated);
  end if;
  if pg_catalog.cardinality(v_due) > 0 then
    perform tock.make_ready(v_due);
  end if;
  if p_sweep then
    perform tock.sweep_gates();
  end if;
  return v_count;
end $$;

comment on function tock.promote is
  'Makes up to p_limit waiting tasks whose time has come ready, earliest first; returns how many. p_sweep reads from the bottom.';

-- Another promotion may hold one that comes before: it has not come to the gate until that commits, and never if it
-- doesn't. So who comes after it stays where it is, for whoever promotes next. The rows are locked by the caller.
create or replace function tock.behind_others(p_positions bigint[], p_from timestamptz)
returns bigint[]
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  if p_positions is null then
    return '{}';
  end if;
  return array(
    with own as materialized (
      select w.queue, w.gate, w.due_at, w.position from tock.waiting w
      where w.position = any (p_positions) and w.ticket is null
    ), others as (
      select distinct on (e.queue, e.gate) e.*
      from (select distinct on (o.queue) o.* from own o order by o.queue, o.due_at desc, o.position desc) l
      cross join lateral (
        select w.queue, w.gate, w.due_at, w.position from tock.waiting w
        where w.queue = l.queue and w.due_at >= p_from and (w.due_at, w.position) < (l.due_at, l.position)
          and w.gate is not null and w.ticket is null and w.after_due is null
        offset 0) e
      where e.position not in (select o.position from own o)
      order by e.queue, e.gate, e.due_at, e.position)
    select o.position from own o join others e using (queue, gate)
    where (e.due_at, e.position) < (o.due_at, o.position));
end $$;

comment on function tock.behind_others is 'Those of some waiting entries that are due at a gate which come after one that is not among them.';

-- The rows are locked by the caller. A task that is cancelled while it waits becomes a run as well, a
-- marked one that claims pass over: so its history lies where all history lies.
create or replace function tock.make_ready(p_positions bigint[], p_cancelled boolean default false)
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $$
declare
  v_slot integer := tock.take_slot();
  v_queues text[];
  v_gates text[];
begin
  if p_cancelled then
    select pg_catalog.array_agg(w.queue), pg_catalog.array_agg(w.gate) into v_queues, v_gates
    from tock.waiting w where w.position = any (p_positions) and w.gate is not null;
  end if;
  perform tock.open_stream(d.queue, d.priority, d.lane, v_slot)
  from (select distinct w.queue, w.priority, w.lane from tock.waiting w where w.position = any (p_positions)) d;
  with due as (
    delete from tock.waiting w where w.position = any (p_positions) returning w.*
  ), placed as materialized (
    select pg_catalog.nextval('tock.positions') as next_position, d.*
    from (
      select s.number as stream, d.* from due d
      join tock.streams s on s.queue = d.queue and s.priority = d.priority and s.lane = d.lane and s.slot = v_slot
      order by d.due_at, d.position) d
  ), ready as (
    insert into tock.runs (stream, position, task_id, attempt, lost, max_attempts, tenant, created_at, bytes, payload, options)
    select p.stream, p.next_position, coalesce(p.task_id, p.position << 20), p.attempt, p.lost, p.max_attempts,
      p.tenant, p.created_at, p.bytes, p.payload, p.options
    from placed p
  ), marked as (
    insert into tock.marks (stream, position, kind, other_id)
    select p.stream, p.next_position, m.kind, case m.kind when 'replaces' then p.replaces end
    from placed p
    cross join lateral (
      select 'replaces' where p.replaces is not null union all select 'cancelled' where p_cancelled) m (kind)
  )
  insert into tock.promotions (position, run_id, due_at)
  select p.position, p.next_position << 20 | p.stream, case when p_cancelled or p.due_at = 'infinity' then '-infinity' else p.due_at end
  from placed p
  on conflict (position) do update set run_id = excluded.run_id;  -- known by the first id of a dropped epoch
  if v_gates is not null then
    perform tock.open_gates(v_queues, v_gates);
  end if;
  if p_cancelled then
    delete from tock.watches x where x.child = any (p_positions);
  end if;
  if not tock.sees_all() then
    insert into tock.nudges (stream, after_position, upto) select 0, p - 1, p from unnest(p_positions) p;
  end if;
  -- A child of one of these watches its run from now on. One whose row is locked can't be moved: whoever has it may have
  -- looked before this promotion commits, and nothing would tell it of the run's end. It gets a nudge.
  if (select x.position from tock.watches x
    where x.stream = 0 and x.position >= (select min(p) from unnest(p_positions) p)
      and x.position <= (select max(p) from unnest(p_positions) p)
    order by x.stream, x.position limit 1) is not null
  then
    update tock.watches x set stream = p.run_id & 1048575, position = p.run_id >> 20
    from (
      select w.position from tock.waiting w
      where w.position = any (array(
        select y.child from tock.watches y where y.stream = 0 and y.position = any (p_positions)))
      order by w.position for update skip locked) c, tock.promotions p
    where x.stream = 0 and x.position = any (p_positions) and x.child = c.position and p.position = x.position;
    perform tock.look_soon(array(
      select y.child from tock.watches y where y.stream = 0 and y.position = any (p_positions)));
    if p_cancelled then
      perform tock.parents_passed((p.run_id & 1048575)::integer, (p.run_id >> 20) - 1, p.run_id >> 20)
      from tock.promotions p where p.position = any (p_positions);
    end if;
  end if;
end $$;

comment on function tock.make_ready is
  'Turns waiting entries into runs, at the ends of their streams; p_cancelled ones are marked and never handed out.';
