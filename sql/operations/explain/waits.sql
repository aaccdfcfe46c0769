-- What tasks wait for that is another task's to end: gates and parents, each summed up in one note.

-- What is inside a gate may take as long as it likes: for how long it has been there tells a gate that is
-- stuck from one at work.
create or replace function tock.gates_at_limit(p_queue text, p_age interval)
returns table (gate text, waiting bigint, gate_limit integer, paused boolean, id bigint,
  since timestamptz, inside text)
language plpgsql
volatile
as $$
#variable_conflict use_column
declare
  v_gate text := (
    select w.gate from tock.waiting w where w.queue = p_queue and w.ticket is not null
    order by w.queue, w.gate limit 1);
  v_is record;
begin
  for v_n in 1 .. 20 loop
    exit when v_gate is null;
    select g.* into v_is from tock.gates(p_queue, v_gate) g;
    return query
      select v_gate, v_is.waiting::bigint, v_is.gate_limit::integer, v_is.paused, i.id, i.since, i.said
      from (select 1) one
      left join lateral (
        select t.id, s.since,
          pg_catalog.format('task %s is inside: %s for %s, attempt %s%s', t.id, t.state,
            tock.ago(s.since), t.attempt,
          coalesce(' (' || tock.error_text(t.error) || ')', '')) as said
        from tock.task(v_is.inside[1]) t
        cross join lateral (
          select coalesce((t.runs -> -1 ->> 'started_at')::timestamptz, t.created_at) as since) s
        where not v_is.paused and pg_catalog.cardinality(v_is.inside) >= v_is.gate_limit) i on true
      where v_is.paused or i.since < pg_catalog.clock_timestamp() - p_age;
    v_gate := (
      select w.gate from tock.waiting w where w.queue = p_queue and w.ticket is not null and w.gate > v_gate
      order by w.queue, w.gate limit 1);
  end loop;
end $$;

comment on function tock.gates_at_limit is
  'Of the first twenty gates of a queue that tasks wait at those that are paused, or full for so long, '
  'with who has been inside.';

create or replace function tock.why_of_gates(p_queue text, p_age interval default '5 seconds')
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  with g as materialized (
    select * from tock.gates_at_limit(p_queue, p_age)
  ), oldest as (
    select * from g where not g.paused order by g.since limit 1
  ), shut as (
    select count(*) as gates, min(g.gate) as first from g where g.paused
  ), every as (
    select count(*) as gates, sum(g.waiting)::bigint as tasks,
      count(*) - count(*) filter (where g.paused) as full from g)
  select 'gates hold tasks back',
    case when s.gates > 0 or o.since < pg_catalog.clock_timestamp() - interval '1 hour' then 'warning'
      else 'note' end,
    pg_catalog.concat_ws('; ',
      pg_catalog.format('%s at %s%s (%s)', tock.some_tasks(e.tasks, 'waits', 'wait'), case e.gates
        when 20 then 'the first ' end,
        tock.some(e.gates, 'gate'),
        pg_catalog.concat_ws(', ', nullif(e.full, 0) || ' full', nullif(s.gates, 0) || ' paused')),
      case when o.id is not null
        then pg_catalog.format('gate %s lets %s in at a time, and %s', o.gate, o.gate_limit, o.inside) end,
      case when s.gates > 0 then pg_catalog.format('gate %s is paused and lets none in', s.first) end),
    pg_catalog.concat_ws('; ',
      case when s.gates > 0
        then pg_catalog.format(
          'open the one that is paused: tock gate %s %s --resume, or the button at the gate', p_queue,
        case when s.first ~ '^[A-Za-z0-9._:/-]+$' then s.first
          else pg_catalog.quote_literal(s.first) end) end,
      case when o.id is not null then tock.how_to_end(o.since,
        pg_catalog.format(
          'a gate is there to hold tasks back: see what that task does (tock task %s), or raise the gate''s '
          'limit', o.id),
        pg_catalog.format('give it up to let the next in: tock cancel %s', o.id)) end)
  from every e cross join shut s left join oldest o on true
  where e.gates > 0
$$;

comment on function tock.why_of_gates is
  'One note of all gates of a queue that tasks wait at because they are paused, or full of tasks '
  'that are inside for long.';

create or replace function tock.parents_counted(p_ids bigint[])
returns table (said text, unfinished bigint, failed bigint)
language sql
volatile
as $$
  with states as materialized (
    select e.state, count(*) as tasks from tock.ends_of(p_ids, null) e group by e.state
  ), every as (
    select s.state, s.tasks from states s
    union all
    select 'gone', pg_catalog.cardinality(p_ids) - coalesce((select sum(s.tasks) from states s), 0)::bigint)
  select pg_catalog.concat_ws(', ', pg_catalog.format('%s of %s done',
      pg_catalog.to_char(coalesce(sum(e.tasks) filter (where e.state = 'done'), 0), 'FM999,990'),
      pg_catalog.to_char(pg_catalog.cardinality(p_ids), 'FM999,990')),
    pg_catalog.string_agg(pg_catalog.to_char(e.tasks, 'FM999,990') || ' ' || e.state, ', '
      order by pg_catalog.array_position(array['dead', 'cancelled', 'expired', 'running', 'ready', 'waiting',
        'gone'], e.state))
      filter (where e.state <> 'done' and e.tasks > 0)),
    coalesce(sum(e.tasks) filter (where e.state in ('running', 'ready', 'waiting')), 0)::bigint,
    coalesce(sum(e.tasks) filter (where e.state in ('dead', 'cancelled', 'expired')), 0)::bigint
  from every e
$$;

comment on function tock.parents_counted is
  'How tasks stand that others come after, in words: 1,372 of 2,000 done, 3 dead, 625 ready; how many have '
  'not ended, and how many did not end well.';

-- Of the next thousand that wait.
create or replace function tock.why_of_parents(p_queue text)
returns table (finding text, severity text, detail text, hint text)
language sql
volatile
as $$
  with next as materialized (
    select * from tock.waiting w where w.queue = p_queue order by w.queue, w.due_at, w.position limit 1000
  ), oldest as (
    select coalesce(n.task_id, tock.id_at(n.position, 0)) as id, n.created_at, n.options,
      count(*) over () as tasks
    from next n
    where n.after_due is not null and n.created_at < pg_catalog.clock_timestamp() - interval '5 seconds'
    order by n.created_at, n.position limit 1)
  select 'tasks wait for their parents', 'note',
    pg_catalog.format('%s; task %s has waited for %s for its own: %s',
      tock.some_tasks(c.tasks, 'waits', 'wait'), c.id, tock.ago(c.created_at), p.said),
    pg_catalog.format('it goes on when they have ended: tock parents %s shows which', c.id)
      || case when p.failed > 0 and c.options ->> 'on_parent_failure' = 'wait'
        then '; those that ended otherwise have to be run again and done: tock rerun ID' else '' end
  from oldest c
  cross join lateral tock.parents_counted(array(
    select a::bigint from pg_catalog.jsonb_array_elements_text(c.options -> 'after') a)) p
  where p.unfinished > 0 or p.failed > 0 and c.options ->> 'on_parent_failure' = 'wait'
  union all
  select f.* from tock.finding_of_left_behind(
    tock.left_behind(array(select n.position from next n where n.after_due is not null))) f
$$;

comment on function tock.why_of_parents is
  'One note of the tasks of a queue that wait for their parents: how many, and how the parents stand of the '
  'one that has waited for longest.';
