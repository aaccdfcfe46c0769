-- Findings about tasks with on_parent_failure wait whose parent is dead, cancelled or expired: up to five
-- parents, each with up to 1,000 tasks. A blocked child is marked in dependency_waits, so children of
-- unfinished parents cost nothing here, however many wait.
create or replace function tock.doctor_of_parents()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_stream integer := 0;
  v_position bigint := 0;
  v_parent tock.found_run;
  v_children bigint[];
  v_count integer := 0;
begin
  for v_scan in 1 .. 100 loop
    select x.stream, x.position into v_stream, v_position from tock.dependency_waits x
    where x.blocked and (x.stream, x.position) > (v_stream, v_position)
    order by x.stream, x.position limit 1;
    exit when not found or v_count = 5;
    v_children := array(
      select coalesce(w.task_id, tock.id_at(w.position, 0))
      from (
        select x.child from tock.dependency_waits x
        where x.blocked and x.stream = v_stream and x.position = v_position limit 1000) x
      join tock.waiting w on w.position = any (array[x.child]) and w.due_after_parents is not null);
    v_parent := tock.run_at(tock.id_at(v_position, v_stream));
    continue when v_children = '{}' or v_parent.task_id is null;
    v_count := v_count + 1;
    return query select 'tasks wait for a failed parent', 'warning',
      pg_catalog.format('%s until task %s of queue %s, which is %s, is rerun and done%s',
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
          cross join lateral tock.parents_in_words(i.ids) p where pg_catalog.cardinality(i.ids) > 1)),
      pg_catalog.format(
        'tock rerun %1$s, or select * from tock.rerun(array[%1$s]); to give up a waiting task: tock cancel '
        '%2$s',
        v_parent.task_id, v_children[1]);
  end loop;
  return query select * from tock.finding_of_missed_dependents(tock.missed_dependents());
end $$;
