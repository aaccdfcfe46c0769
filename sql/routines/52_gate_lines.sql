-- The rows are locked by the caller. Whether or not a gate's row is to be had, they stand at the gate first: due
-- at no time.
create or replace function tock.come_to_gates(p_positions bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
declare
  v_queues text[];
  v_gates text[];
begin
  if pg_catalog.cardinality(p_positions) = 0 then
    return;
  end if;
  perform tock.read_on_from(p_positions);
  update tock.waiting w set due_at = 'infinity', ticket = n.ticket
  from (
    select c.position, coalesce(c.ticket, pg_catalog.nextval('tock.positions')) as ticket
    from (
      select o.position, o.ticket from tock.waiting o where o.position = any (p_positions)
      order by o.due_at, o.position offset 0) c) n
  where w.position = n.position;
  select pg_catalog.array_agg(g.queue), pg_catalog.array_agg(g.gate) into v_queues, v_gates
  from (
    select distinct w.queue, w.gate from tock.waiting w where w.position = any (p_positions)) g;
  perform tock.make_gates(v_queues, v_gates);
  perform tock.turn_gates(tock.lock_gates(v_queues, v_gates, false));
end $$;

comment on function tock.come_to_gates is 'Has waiting entries that are due stand at their gates, and lets in whoever there is room for.';

-- Promotions of nothing, one for ten entries at most: late_from() counts by them.
create or replace function tock.read_on_from(p_positions bigint[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
  insert into tock.promotions (position, run_id, due_at)
  select pg_catalog.nextval('tock.positions'), pg_catalog.nextval('tock.positions') << 20, d.due_at
  from (
    select max(d.due_at) as due_at from (
      select w.due_at, row_number() over (order by w.due_at) as n from tock.waiting w
      where w.position = any (p_positions) and w.due_at <= pg_catalog.clock_timestamp()) d
    group by (d.n - 1) / 10 offset 0) d;
end $$;

comment on function tock.read_on_from is 'Has promotion read on from these waiting entries, which stay there and are due at another time from now on.';

create or replace function tock.open_gates(p_queues text[], p_gates text[], p_wait boolean default true)
returns integer
language plpgsql
volatile
as $$
begin
  return tock.turn_gates(tock.lock_gates(p_queues, p_gates, p_wait));
end $$;

comment on function tock.open_gates is 'Lets in whoever there is room for at these gates; returns how many.';

-- p_names are queues and gates in turn.
create or replace function tock.open_named_gates(p_names text[], p_wait boolean)
returns void
language plpgsql
volatile
as $$
declare
  v_queues text[] := '{}';
  v_gates text[] := '{}';
begin
  for v_n in 1 .. pg_catalog.cardinality(p_names) / 2 loop
    v_queues := v_queues || p_names[2 * v_n - 1];
    v_gates := v_gates || p_names[2 * v_n];
  end loop;
  if v_gates <> '{}' then
    perform tock.open_gates(v_queues, v_gates, p_wait);
  end if;
end $$;

comment on function tock.open_named_gates is 'open_gates() for what gates_statement() names.';

-- The reaper waits for no gate, as it has those of many.
create or replace function tock.leave_gates_of(p_leases uuid[], p_epoch integer, p_wait boolean)
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_lease uuid;
  v_names text[];
  v_all text[] := '{}';
begin
  foreach v_lease in array p_leases loop
    v_names := tock.gates_hot(v_lease, p_epoch);
    if v_names is null then
      execute tock.gates_statement(p_epoch) into v_names using v_lease;
    end if;
    v_all := v_all || v_names;
  end loop;
  perform tock.open_named_gates(v_all, p_wait);
end $$;

comment on function tock.leave_gates_of is 'Opens the gates of the runs of leases for the next.';

create or replace function tock.leave_gates(p_lease uuid, p_epoch integer)
returns void
language sql
volatile
as $$
  select tock.leave_gates_of(array[p_lease], p_epoch, true)
$$;

comment on function tock.leave_gates is 'Opens the gates of a lease''s runs for the next.';

-- The others of their lease go on: their gates are not looked at.
create or replace function tock.leave_gates_at(p_epoch integer, p_ended tock.ending[])
returns void
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_names text[] := tock.ended_gates_hot(p_epoch, p_ended);
begin
  if v_names is null then
    execute tock.ended_gates_statement(p_epoch) into v_names using p_ended;
  end if;
  perform tock.open_named_gates(v_names, true);
end $$;

comment on function tock.leave_gates_at is 'Opens the gates of runs that ended for the next.';

-- Up to 500 gates a call that somebody stands at, on from where the last call came to.
create or replace function tock.sweep_gates(p_limit integer default 500)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
  v_after text[] := (select d.reached_gate from tock.duties d where d.name = 'promote');
  v_queues text[];
  v_gates text[];
  v_let_in integer := 0;
begin
  with recursive standing as (
    (select w.queue, w.gate from tock.waiting w
     where w.ticket is not null and (w.queue, w.gate) > (coalesce(v_after[1], ''), coalesce(v_after[2], ''))
     order by w.queue, w.gate limit 1)
    union all
    select n.queue, n.gate from standing s
    cross join lateral (
      select w.queue, w.gate from tock.waiting w
      where w.ticket is not null and (w.queue, w.gate) > (s.queue, s.gate)
      order by w.queue, w.gate limit 1) n)
  select pg_catalog.array_agg(s.queue), pg_catalog.array_agg(s.gate) into v_queues, v_gates
  from (select * from standing limit p_limit) s;
  if v_gates is not null then
    perform tock.make_gates(v_queues, v_gates);
    v_let_in := tock.turn_gates(tock.lock_gates(v_queues, v_gates, false), true);
  end if;
  if v_gates is not null or v_after is not null then
    update tock.duties d set reached_gate = case when pg_catalog.cardinality(v_gates) = p_limit
        then array[v_queues[p_limit], v_gates[p_limit]] end
    where d.name = 'promote' and d.reached_gate is distinct from
      case when pg_catalog.cardinality(v_gates) = p_limit then array[v_queues[p_limit], v_gates[p_limit]] end;
  end if;
  return v_let_in;
end $$;

comment on function tock.sweep_gates is 'Looks at gates that somebody stands at, up to p_limit a call, and lets in whoever was missed; returns how many.';

-- Of few, as a duty may make thousands of gates in one transaction.
create or replace function tock.gate_key(p_queue text, p_gate text)
returns integer
language sql
immutable
as $$
  select tock.named_key('gate', (pg_catalog.hashtext(p_queue || ' ' || p_gate) & 63)::text)
$$;

comment on function tock.gate_key is 'Second key of the lock of making a gate: one of 64.';

-- Waits for nobody: a gate that another transaction is making at this moment is left to the sweep.
create or replace function tock.make_gates(p_queues text[], p_gates text[])
returns void
language plpgsql
volatile
set enable_seqscan = off
as $$
declare
  v_queues text[];
  v_gates text[];
  v_locked integer[];
begin
  select pg_catalog.array_agg(u.queue), pg_catalog.array_agg(u.gate) into v_queues, v_gates
  from unnest(p_queues, p_gates) u (queue, gate)
  where (select o.created_at from tock.gates o where o.queue = u.queue and o.gate = u.gate) is null;
  if v_gates is null then
    return;
  end if;
  v_locked := array(
    select k.key from (
      select distinct tock.gate_key(u.queue, u.gate) as key from unnest(v_queues, v_gates) u (queue, gate) offset 0) k
    where pg_catalog.pg_try_advisory_xact_lock(tock.lock_space(), k.key));
  begin
    insert into tock.gates (queue, gate)
    select u.queue, u.gate from unnest(v_queues, v_gates) u (queue, gate)
    where tock.gate_key(u.queue, u.gate) = any (v_locked)
    on conflict do nothing;
  exception
    when serialization_failure then null;  -- made since this transaction's snapshot was taken
  end;
end $$;

comment on function tock.make_gates is 'Makes gates that were named for the first time, but for those that another transaction is making.';
