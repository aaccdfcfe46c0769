create or replace function tock.cancel_where(
  p_queue text, p_filter jsonb default '{}', p_cursor text default null, p_limit integer default 1000)
returns table (matched integer, changed integer, cursor text, looked_at integer)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_state text := coalesce(p_filter ->> 'state', 'unstarted');
  v_page tock.page;
begin
  perform tock.check_queue_name(p_queue);
  perform tock.check_filter(p_filter, array['waiting', 'ready', 'running'], p_limit, 10000, array['state', 'tenant']);
  v_page := tock.select_tasks(p_queue, v_state, p_filter ->> 'tenant', null, null, null,
    tock.bounded_cursor(p_cursor, v_state), p_limit);
  matched := pg_catalog.cardinality(v_page.tasks);
  changed := case when matched = 0 then 0 else (
    select count(*) from tock.cancel(array(select t.id from unnest(v_page.tasks) t)) c where c.changed) end;
  cursor := v_page.cursor;
  looked_at := v_page.looked_at;
  return next;
end $$;

comment on function tock.cancel_where is
  'Cancels up to p_limit tasks of a queue ({state: waiting, ready or running, tenant}; waiting and ready ones without a state), as cancel() does. One row: how many were matched and changed, and the cursor to go on with, null at the end; calls that go on leave out what came since.';

-- What was given the priority stands at the end of another stream, where it is passed over by the next call.
create or replace function tock.reprioritize_where(
  p_queue text, p_filter jsonb, p_priority integer, p_cursor text default null, p_limit integer default 1000)
returns table (matched integer, changed integer, cursor text, looked_at integer)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_state text := coalesce(p_filter ->> 'state', 'unstarted');
  v_page tock.page;
begin
  perform tock.check_queue_name(p_queue);
  perform tock.check_filter(p_filter, array['waiting', 'ready', 'running'], p_limit, 10000, array['state', 'tenant']);
  perform tock.check_changes(pg_catalog.jsonb_build_object('priority', p_priority));
  v_page := tock.select_tasks(p_queue, v_state, p_filter ->> 'tenant', null, null,
    p_priority, tock.bounded_cursor(p_cursor, v_state), p_limit);
  matched := pg_catalog.cardinality(v_page.tasks);
  changed := case when matched = 0 then 0 else (
    select count(*) from tock.reprioritize(array(select t.id from unnest(v_page.tasks) t), p_priority) c where c.changed) end;
  cursor := v_page.cursor;
  looked_at := v_page.looked_at;
  return next;
end $$;

comment on function tock.reprioritize_where is
  'Gives another priority to up to p_limit tasks of a queue that have not that one ({state: waiting, ready or running, tenant}; waiting and ready ones without a state), as reprioritize() does. One row: how many were matched and changed, and the cursor to go on with, null at the end; calls that go on leave out what came since.';
