create or replace function tock.children(p_id bigint, p_limit integer default 100, p_after bigint default 0)
returns table (id bigint, queue text, state text) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_parent bigint := tock.first_id(p_id);
  v_ids bigint[] := array[p_id];
  v_step integer := p_limit;
  v_found integer := 0;
  v_count integer;
begin
  perform tock.check_range(p_limit, 1, 1000, 'limit');
  perform tock.refuse_foreign_ids(v_ids, 'id');
  if p_after is null or p_after < 0 then
    perform tock.refuse(422, 'after must be the id of a task', 'after',
      'for the next page, set after to the last id of the previous page');
  end if;
  -- children whose history is gone are left out, so a page may take several steps
  while v_found < p_limit and v_ids <> '{}' loop
    v_ids := array(
      select c.child from tock.children c where c.parent = v_parent and c.child > p_after
      order by c.parent, c.child limit v_step);
    return query
      select w.task_id, w.queue, w.state from tock.resolve_tasks(v_ids) w
      order by w.task_id limit p_limit - v_found;
    get diagnostics v_count = row_count;
    v_found := v_found + v_count;
    p_after := v_ids[pg_catalog.cardinality(v_ids)];
    v_step := least(10000, v_step * 4);
  end loop;
end $$;

comment on function tock.children is
  'The tasks that depend on a task or are parts of it, in the order of their ids, after p_after (up to '
  'p_limit, 1,000 at most): those that name it in depends_on or as their parent, as spawned tasks do. '
  'Leaves out tasks whose history is gone.';
