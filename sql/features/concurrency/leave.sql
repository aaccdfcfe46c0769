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
as $$
declare
  v_lease uuid;
  v_names text[];
  v_all text[] := '{}';
begin
  foreach v_lease in array p_leases loop
    v_names := tock.lease_gates_current(v_lease, p_epoch);
    if v_names is null then
      execute pg_catalog.format('select tock.lease_gates_%s($1, $2)', p_epoch) into v_names
        using v_lease, p_epoch;
    end if;
    v_all := v_all || v_names;
  end loop;
  perform tock.open_named_gates(v_all, p_wait);
end $$;

comment on function tock.leave_gates_of is 'Opens the gates of the runs of leases for the next.';

-- The others of their lease go on: their gates are not looked at.
create or replace function tock.leave_gates_at(p_epoch integer, p_ended tock.ending[])
returns void
language plpgsql
volatile
as $$
declare
  v_names text[] := tock.ended_gates_current(p_epoch, p_ended);
begin
  if v_names is null then
    execute pg_catalog.format('select tock.ended_gates_%s($1, $2)', p_epoch) into v_names
      using p_epoch, p_ended;
  end if;
  perform tock.open_named_gates(v_names, true);
end $$;

comment on function tock.leave_gates_at is 'Opens the gates of runs that ended for the next.';

-- What was changed is marked by now: a gate tells by it who backs off and who was put off.
create or replace function tock.give_up_turns(p_ids bigint[])
returns void
language plpgsql
volatile
as $$
declare
  v_queues text[];
  v_gates text[];
begin
  select pg_catalog.array_agg(w.queue), pg_catalog.array_agg(w.gate) into v_queues, v_gates
  from tock.waiting w
  where w.position = any (array(select tock.position_of(i) from unnest(p_ids) i)) and w.gate is not null
    and w.task_id is not null
    and w.due_at < 'infinity';
  if v_gates is not null then
    perform tock.open_gates(v_queues, v_gates);
  end if;
end $$;

comment on function tock.give_up_turns is
  'Opens the gates of waiting entries that were inside and are put off, for the next.';
