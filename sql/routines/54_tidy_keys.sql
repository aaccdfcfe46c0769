-- A key is kept for as long as its task is seen, a day at least, and until its time is over.
create or replace function tock.tidy_keys(p_limit integer)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_old tock.unique_keys[] := array(
    select k::tock.unique_keys from tock.unique_keys k
    where k.created_at < v_now - interval '1 day' order by k.created_at limit p_limit for update skip locked);
  v_where tock.whereabout[] := array(select w from tock.whereabouts(array(select k.task_id from unnest(v_old) k)) w);
  v_count integer;
begin
  delete from tock.unique_keys k using unnest(v_old) o
  where k.queue = o.queue and k.unique_key = o.unique_key and k.number = o.number
    and coalesce(o.until < v_now, true)
    and o.created_at < v_now - (tock.policy(o.queue)).retention_seconds * interval '1 second'
    and not exists (
      select from unnest(v_where) w where w.task_id = o.task_id and w.state in ('waiting', 'ready', 'running'));
  get diagnostics v_count = row_count;
  return v_count;
end $$;

comment on function tock.tidy_keys is 'Forgets unique keys whose tasks are over for longer than their queue keeps them, among the p_limit oldest; returns how many.';

-- Among p_limit gates, on from where the last call came to.
create or replace function tock.tidy_gates(p_limit integer)
returns integer
language plpgsql
volatile
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  v_after text[] := (select d.reached_gate from tock.duties d where d.name = 'tidy');
  v_gate tock.gates;
  v_seen integer := 0;
  v_count integer := 0;
begin
  for v_gate in
    select g.* from tock.gates g
    where (g.queue, g.gate) > (coalesce(v_after[1], ''), coalesce(v_after[2], ''))
    order by g.queue, g.gate limit p_limit for update skip locked
  loop
    v_seen := v_seen + 1;
    v_after := array[v_gate.queue, v_gate.gate];
    continue when v_gate.created_at > pg_catalog.now() - interval '1 day' or v_gate.paused
      or coalesce(v_gate.gate_limit, v_gate.gate_rate_limit, v_gate.gate_rate_seconds, v_gate.gate_rate_burst) is not null
      or coalesce((
        select t.turned_at > pg_catalog.now() - interval '1 day' from tock.turns t
        where t.queue = v_gate.queue and t.gate = v_gate.gate
        order by t.queue desc, t.gate desc, t.number desc limit 1), false)
      or tock.inside_gate(v_gate.queue, v_gate.gate, 'keep') <> '{}'
      or (select w.position from tock.waiting w where w.queue = v_gate.queue and w.gate = v_gate.gate and w.ticket is not null
        limit 1) is not null;
    delete from tock.turns t where t.queue = v_gate.queue and t.gate = v_gate.gate;
    delete from tock.gates g where g.queue = v_gate.queue and g.gate = v_gate.gate;
    v_count := v_count + 1;
  end loop;
  update tock.duties d set reached_gate = case when v_seen >= p_limit then v_after end
  where d.name = 'tidy' and d.reached_gate is distinct from case when v_seen >= p_limit then v_after end;
  return v_count;
end $$;

comment on function tock.tidy_gates is 'Forgets gates without settings that nobody has come to for a day, among p_limit of them; returns how many.';
