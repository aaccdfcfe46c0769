-- As it stands now: nobody inside or in the line, and nobody let in for a day.
create or replace function tock.is_idle_gate(p_gate tock.gates)
returns boolean
language plpgsql
volatile
as $$
begin
  return p_gate.created_at <= pg_catalog.now() - interval '1 day' and not p_gate.paused
    and coalesce(p_gate.gate_limit, p_gate.gate_rate_limit, p_gate.gate_rate_seconds,
      p_gate.gate_rate_burst) is null
    and coalesce((
      select t.turned_at <= pg_catalog.now() - interval '1 day' from tock.turns t
      where t.queue = p_gate.queue and t.gate = p_gate.gate
      order by t.queue desc, t.gate desc, t.number desc limit 1), true)
    and tock.inside_gate(p_gate.queue, p_gate.gate, 'keep') = '{}'
    and (select w.position from tock.waiting w where w.queue = p_gate.queue and w.gate = p_gate.gate
      and w.ticket is not null
      limit 1) is null;
end $$;

comment on function tock.is_idle_gate is
  'Whether a gate has no settings and nobody has come to it for a day.';

-- Among p_limit gates, on from where the last call came to. Only those that nobody seems to use are locked,
-- and somebody may have come before that.
create or replace function tock.tidy_gates(p_limit integer)
returns integer
language plpgsql
volatile
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_after text[] := (select d.reached_gate from tock.duties d where d.name = 'tidy');
  v_seen tock.gates[] := array(
    select g::tock.gates from tock.gates g
    where (g.queue, g.gate) > (coalesce(v_after[1], ''), coalesce(v_after[2], ''))
    order by g.queue, g.gate limit p_limit);
  v_idle tock.gates[] := array(select g::tock.gates from unnest(v_seen) g where tock.is_idle_gate(g));
  v_gate tock.gates;
  v_count integer := 0;
begin
  foreach v_gate in array v_idle loop
    v_gate := (tock.lock_gates(array[v_gate.queue], array[v_gate.gate], false))[1];
    continue when v_gate.gate is null or not tock.is_idle_gate(v_gate);
    delete from tock.turns t where t.queue = v_gate.queue and t.gate = v_gate.gate;
    delete from tock.gates g where g.queue = v_gate.queue and g.gate = v_gate.gate;
    v_count := v_count + 1;
  end loop;
  v_after := case when pg_catalog.cardinality(v_seen) >= p_limit
    then array[(v_seen[p_limit]).queue, (v_seen[p_limit]).gate] end;
  update tock.duties d set reached_gate = v_after
  where d.name = 'tidy' and d.reached_gate is distinct from v_after;
  return v_count;
end $$;

comment on function tock.tidy_gates is
  'Forgets gates without settings that nobody has come to for a day, among p_limit of them; '
  'returns how many.';
