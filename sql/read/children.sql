create or replace function tock.children(p_id bigint, p_limit integer default 100, p_after bigint default 0)
returns table (id bigint, queue text, state text) language plpgsql volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_parent bigint := tock.first_id(p_id);
  v_ids bigint[];
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform tock.refuse(422, 'limit must be a whole number from 1 to 1000', 'limit');
  elsif p_after is null or p_after < 0 then
    perform tock.refuse(422, 'after must be the id of a task', 'after',
      'for the next page, set after to the last id of the previous page');
  end if;
  v_ids := array(
    select c.child from tock.children c where c.parent = v_parent and c.child > p_after
    order by c.parent, c.child limit p_limit);
  return query
    select w.task_id, w.queue, w.state from tock.resolve_tasks(v_ids) w order by w.task_id;
end $$;

comment on function tock.children is
  'The tasks that depend on a task or are parts of it, in the order of their ids, after p_after (up to '
  'p_limit, 1,000 at most): those that name it in depends_on or as their parent, as spawned tasks do. '
  'Leaves out tasks whose history is gone.';
