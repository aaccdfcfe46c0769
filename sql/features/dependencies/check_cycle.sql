-- Raises TK422 if these edges between p_tasks tasks have a cycle; names a task in the cycle or behind it.
-- Topological sorting (A. B. Kahn, 1962). The edges are ordered by parent.
create or replace function tock.refuse_cycle(p_children integer[], p_parents integer[], p_tasks integer)
returns void language plpgsql immutable as $$
declare
  v_open integer[] := pg_catalog.array_fill(0, array[p_tasks]);
  v_first integer[] := pg_catalog.array_fill(0, array[p_tasks]);
  v_free integer[] := '{}';
  v_done integer := 0;
  v_at integer;
  v_child integer;
  v_edges integer := coalesce(pg_catalog.cardinality(p_children), 0);
begin
  for v_n in reverse v_edges .. 1 loop
    v_open[p_children[v_n]] := v_open[p_children[v_n]] + 1;
    v_first[p_parents[v_n]] := v_n;
  end loop;
  for v_n in 1 .. p_tasks loop
    if v_open[v_n] = 0 then
      v_free := v_free || v_n;
    end if;
  end loop;
  while v_done < pg_catalog.cardinality(v_free) loop
    v_done := v_done + 1;
    v_at := v_first[v_free[v_done]];
    while v_at between 1 and v_edges and p_parents[v_at] = v_free[v_done] loop
      v_child := p_children[v_at];
      v_open[v_child] := v_open[v_child] - 1;
      if v_open[v_child] = 0 then
        v_free := v_free || v_child;
      end if;
      v_at := v_at + 1;
    end loop;
  end loop;
  if v_done < p_tasks then
    perform tock.refuse(422, 'this task and others wait for each other in a cycle',
      pg_catalog.format('tasks[%s].depends_on',
      (select min(o.n) from unnest(v_open) with ordinality o (open, n) where o.open > 0) - 1));
  end if;
end $$;
