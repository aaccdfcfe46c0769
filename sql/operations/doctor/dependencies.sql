-- Who is held up is on record with its watch, so tasks whose parents are at work cost nothing here,
-- however many wait.
create or replace function tock.doctor_of_parents()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_stream integer := 0;
  v_position bigint := 0;
  v_parent tock.found_run;
  v_children bigint[];
  v_found integer := 0;
begin
  for v_scan in 1 .. 100 loop
    select x.stream, x.position into v_stream, v_position from tock.dependency_waits x
    where x.blocked and (x.stream, x.position) > (v_stream, v_position)
    order by x.stream, x.position limit 1;
    exit when not found or v_found = 5;
    v_children := array(
      select coalesce(w.task_id, tock.id_at(w.position, 0))
      from (
        select x.child from tock.dependency_waits x
        where x.blocked and x.stream = v_stream and x.position = v_position limit 1000) x
      join tock.waiting w on w.position = x.child and w.due_after_parents is not null);
    v_parent := tock.run_at(tock.id_at(v_position, v_stream));
    continue when v_children = '{}' or v_parent.task_id is null;
    v_found := v_found + 1;
    return query select 'tasks wait for one that ended otherwise', 'warning',
      pg_catalog.format('%s until task %s of queue %s, which is %s, is run again and done%s',
        case pg_catalog.cardinality(v_children) when 1 then pg_catalog.format('task %s waits', v_children[1])
          else pg_catalog.format('%s%s tasks, %s among them, wait', case pg_catalog.cardinality(v_children)
            when 1000 then 'at least ' end,
            pg_catalog.cardinality(v_children), v_children[1]) end,
        v_parent.task_id, v_parent.queue, (tock.final_states_of(array[v_parent.task_id], null)).state, (
          select pg_catalog.format('; the parents of task %s: %s', v_children[1], p.said)
          from (
            select array(select a::bigint
              from pg_catalog.jsonb_array_elements_text(t.options -> 'depends_on') a) as ids
            from tock.task(v_children[1]) t) i
          cross join lateral tock.count_parents(i.ids) p where pg_catalog.cardinality(i.ids) > 1)),
      pg_catalog.format(
        'tock rerun %1$s, or select * from tock.rerun(array[%1$s]); to give up one that waits: tock cancel '
        '%2$s',
        v_parent.task_id, v_children[1]);
  end loop;
  return query select * from tock.finding_of_missed_dependents(tock.missed_dependents());
end $$;

comment on function tock.doctor_of_parents is
  'What doctor() says of tasks with on_parent_failure wait whose parent died, was cancelled or expired: of '
  'up to five parents, up to 1,000 tasks each.';

-- The maintenance job looks at each within ten seconds: who is past its end
-- for as long as a maintenance job may be late was not looked at.
create or replace function tock.workers_past_deadline(p_pool text)
returns integer language plpgsql volatile as $$
declare
  v_late timestamptz := pg_catalog.clock_timestamp() - (
    select 3 * d.every_seconds + 120 from tock.maintenance_jobs d where d.name = 'reap_pools')
    * interval '1 second';
begin
  return (
    select count(*) from (
      select p.leased_until from tock.pool_members p
      where p.pool = p_pool and p.check_at < v_late order by p.pool, p.check_at limit 1000) l
    where l.leased_until < v_late);
end $$;

comment on function tock.workers_past_deadline is
  'How many workers of a pool, of the first 1,000 to be looked at, are past their end '
  'and have not been let go.';
