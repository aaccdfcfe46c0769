-- Records tasks that were just added: as children of the tasks in their depends_on those that wait at these
-- positions, and each of p_parts as a part of the parent at its place.
create or replace function tock.record_children(
  p_waiting bigint[], p_parents bigint[], p_parts bigint[])
returns void language sql volatile as $$
  insert into tock.children (parent, child)
  select p.id::bigint, tock.id_at(w.position, 0)
  from tock.waiting w
  cross join lateral pg_catalog.jsonb_array_elements_text(w.options -> 'depends_on') p (id)
  where w.position = any (p_waiting)
  union
  -- any number may be named as the parent, but a task that exists is older
  select t.parent, t.child from unnest(p_parents, p_parts) t (parent, child) where t.parent < t.child
$$;
