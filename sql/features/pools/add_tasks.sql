create or replace function tock.add_tasks(p_pool text, p_tasks text[])
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s' as $$
declare
  v_added integer;
begin
  perform tock.check_member(p_pool, '-', '-', null);
  perform tock.check_tasks(p_tasks, 100000);
  -- ordered by name, so that two calls with the same tasks cannot deadlock
  insert into tock.pool_members (number, pool, task, offered, turn)
  select o.number, p_pool, o.task, true, o.number
  from (
    select pg_catalog.nextval('tock.pool_member_numbers') as number, t.task
    from (select u.task from unnest(p_tasks) with ordinality u(task, n) order by u.n) t) o
  order by o.task collate "C", o.number
  on conflict do nothing;
  get diagnostics v_added = row_count;
  return v_added;
end $$;

comment on function tock.add_tasks is
  'Adds tasks to a pool for workers to take, in this order; tasks that are in it already stay as they are. '
  'Returns the number added.';

-- Raises TK422 for an invalid list of tasks.
create or replace function tock.check_tasks(p_tasks text[], p_most integer)
returns void language plpgsql immutable as $$
declare
  v_wrong bigint;
begin
  if not coalesce(pg_catalog.cardinality(p_tasks) between 1 and p_most
    and pg_catalog.array_ndims(p_tasks) = 1, false)
  then
    perform tock.refuse(422, pg_catalog.format('tasks must be 1 to %s names', p_most), 'tasks');
  end if;
  v_wrong := (
    select t.n from unnest(p_tasks) with ordinality t(task, n)
    where not coalesce(pg_catalog.length(t.task) between 1 and 200, false) order by t.n limit 1);
  if v_wrong is not null then
    perform tock.refuse(422, 'a task must be a name of 1 to 200 characters',
      pg_catalog.format('tasks[%s]', v_wrong - 1));
  end if;
end $$;
