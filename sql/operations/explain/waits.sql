-- These functions explain why tasks wait for other tasks, at concurrency keys or for parents. Each of the two
-- gives one note for all such tasks.

-- The paused concurrency keys, and those full for longer than p_age with their oldest holder, among the first
-- twenty of a queue with waiters. A holder may take as long as it needs: the time for which it has held the
-- key tells a stuck key from a busy one.
create or replace function tock.keys_at_limit(p_queue text, p_age interval)
returns table (concurrency_key text, waiting bigint, concurrency_limit integer, paused boolean, id bigint,
  since timestamptz, holders text) language plpgsql
volatile as $$
#variable_conflict use_column
declare
  v_concurrency_key text := (
    select w.concurrency_key from tock.waiting w where w.lost >= 0 and w.queue = p_queue and w.ticket > 0
    order by w.queue, w.concurrency_key limit 1);
  v_is record;
begin
  for v_n in 1 .. 20 loop
    exit when v_concurrency_key is null;
    select g.* into v_is from tock.concurrency_keys(p_queue, v_concurrency_key) g;
    return query
      select v_concurrency_key, v_is.waiting::bigint, v_is.concurrency_limit::integer, v_is.paused, i.id,
        i.since, i.said
      from (select 1) one
      left join lateral (
        select t.id, s.since,
          pg_catalog.format('task %s holds it%s: %s for %s, attempt %s%s', t.id,
            ', the first of ' || nullif(pg_catalog.cardinality(v_is.holders), 1), t.state, tock.ago(s.since),
            t.attempt, coalesce(' (' || tock.error_text(t.error) || ')', '')) as said
        from tock.task(v_is.holders[1]) t
        cross join lateral (
          select coalesce((t.runs -> -1 ->> 'started_at')::timestamptz, t.created_at) as since) s
        where not v_is.paused and pg_catalog.cardinality(v_is.holders) >= v_is.concurrency_limit) i on true
      where v_is.paused or i.since < pg_catalog.clock_timestamp() - p_age;
    v_concurrency_key := (
      select w.concurrency_key from tock.waiting w
      where w.lost >= 0 and w.queue = p_queue and w.ticket > 0 and w.concurrency_key > v_concurrency_key
      order by w.queue, w.concurrency_key limit 1);
  end loop;
end $$;

-- One note about all concurrency keys of a queue with waiters that are paused, or that their holders have
-- kept for long.
create or replace function tock.why_of_concurrency_keys(p_queue text, p_age interval default '5 seconds')
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with g as materialized (
    select * from tock.keys_at_limit(p_queue, p_age)
  ), oldest as (
    select * from g where not g.paused order by g.since limit 1
  ), shut as (
    select count(*) as concurrency_keys, min(g.concurrency_key) as first from g where g.paused
  ), every as (
    select count(*) as concurrency_keys, sum(g.waiting)::bigint as tasks,
      count(*) - count(*) filter (where g.paused) as full from g)
  select 'concurrency keys hold tasks back',
    case when s.concurrency_keys > 0
      or o.since < pg_catalog.clock_timestamp() - interval '1 hour' then 'warning'
      else 'note' end,
    pg_catalog.concat_ws('; ',
      pg_catalog.format('%s at %s%s (%s)', tock.some_tasks(e.tasks, 'waits', 'wait'), case e.concurrency_keys
        when 20 then 'the first ' end, tock.some(e.concurrency_keys, 'concurrency key'),
        pg_catalog.concat_ws(', ', nullif(e.full, 0) || ' full', nullif(s.concurrency_keys, 0) || ' paused')),
      case when o.id is not null
        then pg_catalog.format('concurrency key %s admits %s at a time, and %s', o.concurrency_key,
          o.concurrency_limit, o.holders) end,
      case when s.concurrency_keys > 0
        then pg_catalog.format('concurrency key %s is paused and admits none', s.first) end),
    pg_catalog.concat_ws('; ',
      case when s.concurrency_keys > 0
        then pg_catalog.format('resume the paused one: tock concurrency-key %s ''%s'' --resume', p_queue,
          pg_catalog.replace(s.first, '''', '''\''''')) end,
      case when o.id is not null then tock.how_to_end(o.since,
        pg_catalog.format(
          'a concurrency key is meant to hold tasks back: see what that task does (tock task %s), or raise '
          'its limit (tock concurrency-key %s ''%s'' --limit N)', o.id, p_queue,
          pg_catalog.replace(o.concurrency_key, '''', '''\''''')),
        pg_catalog.format('cancel it to admit the next: tock cancel %s', o.id)) end)
  from every e cross join shut s left join oldest o on true
  where e.concurrency_keys > 0
$$;

-- The states of parents in words (1,372 of 2,000 done, 3 dead, 625 ready), how many are unfinished, and how
-- many failed.
create or replace function tock.parents_in_words(p_ids bigint[])
returns table (said text, unfinished bigint, failed bigint) language sql volatile as $$
  with states as materialized (
    select e.state, count(*) as tasks from tock.final_states_of(p_ids, null) e group by e.state
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

-- One note about the tasks of a queue that wait for their parents: how many, and the states of the parents of
-- the oldest. The next 1,000 waiting tasks are checked.
create or replace function tock.why_of_parents(p_queue text)
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  with next as materialized (
    select * from tock.waiting w where w.lost >= 0 and w.queue = p_queue
    order by w.queue, w.due_at, w.position limit 1000
  ), oldest as (
    select coalesce(n.task_id, tock.id_at(n.position, 0)) as id, n.created_at, n.options,
      count(*) over () as tasks
    from next n
    where n.due_after_parents is not null and n.waits_for is null
      and n.created_at < pg_catalog.clock_timestamp() - interval '5 seconds'
    order by n.created_at, n.position limit 1)
  select 'tasks wait for their parents', 'note',
    pg_catalog.format('%s; task %s has waited %s for its parents: %s',
      tock.some_tasks(c.tasks, 'waits', 'wait'), c.id, tock.ago(c.created_at), p.said),
    pg_catalog.format('it continues when they have ended: tock parents %s lists them', c.id)
      || case when p.failed > 0 and c.options ->> 'on_parent_failure' = 'wait'
        then '; failed ones have to be rerun and done' else '' end
  from oldest c
  cross join lateral tock.parents_in_words(array(
    select a::bigint from pg_catalog.jsonb_array_elements_text(c.options -> 'depends_on') a)) p
  where p.unfinished > 0 or p.failed > 0 and c.options ->> 'on_parent_failure' = 'wait'
  union all
  select f.* from tock.finding_of_missed_dependents(
    tock.missed_dependents(array(select n.position from next n where n.due_after_parents is not null))) f
$$;
