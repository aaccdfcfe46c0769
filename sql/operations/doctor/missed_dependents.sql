-- The finding of doctor() and why() about children from missed_dependents().
create or replace function tock.finding_of_missed_dependents(p_children bigint[])
returns table (finding text, severity text, detail text, hint text) language sql volatile as $$
  select 'tasks wait although their parents have ended', 'warning',
    pg_catalog.format('%s without a recheck soon; task %s, one of them, rechecks its parents at %s',
      tock.some_tasks(pg_catalog.cardinality(p_children), 'waits', 'wait'),
      coalesce(w.task_id, tock.id_at(w.position, 0)), tock.utc(w.due_at)),
    'the sweep of the maintenance job promote finds such tasks: check with tock maintenance that it runs; '
    'select tock.promote(1000, true) does it now'
  from tock.waiting w where w.position = p_children[1]
$$;
