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

-- $1 token. A queue and a gate in turn.
create or replace function tock.gates_statement(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    with leased as materialized (select l.* from tock.leases_%1$s l where %2$s)
    select coalesce(pg_catalog.array_agg(n.name order by g.queue, g.gate, n.n), '{}')
    from (
      select distinct s.queue, r.options ->> 'gate' as gate
      from leased l
      join tock.streams s on s.number = l.stream
      cross join lateral (
        select r.options from tock.runs_%1$s r
        where r.stream = l.stream and r.position > l.after_position and r.position <= l.last_position
          and r.options ? 'gate'
        offset 0) r) g
    cross join lateral (select 1 as n, g.queue as name union all select 2, g.gate) n$q$, p_epoch,
    tock.lease_condition(p_epoch, false))
$$;

comment on function tock.gates_statement is 'The statement that names the queues and gates of a lease''s runs, in turn.';

-- $1 what ended
create or replace function tock.ended_gates_statement(p_epoch integer)
returns text
language sql
stable
as $$
  select pg_catalog.format($q$
    select coalesce(pg_catalog.array_agg(n.name order by g.queue, g.gate, n.n), '{}')
    from (
      select distinct s.queue, r.options ->> 'gate' as gate
      from unnest($1) e
      join tock.streams s on s.number = e.stream
      cross join lateral (
        select r.options from tock.runs_%s r
        where r.stream = e.stream and r.position = e.position and r.options ? 'gate'
        offset 0) r) g
    cross join lateral (select 1 as n, g.queue as name union all select 2, g.gate) n$q$, p_epoch)
$$;

comment on function tock.ended_gates_statement is 'The statement that names the queues and gates of runs that ended, in turn.';
