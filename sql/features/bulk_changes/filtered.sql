-- Ids of up to p_limit tasks of a queue for a change by filter, in one state or waiting and then ready, and
-- the cursor of the next page, null at the end. Without a state, the function lists waiting tasks first and
-- ready ones after them, so that tasks that become ready meanwhile are found. The first letter of the cursor
-- says which of the two lists continues, and its last digits are the newest position at the first call: a
-- task with a later id is left out.
create or replace function tock.list_unfinished(
  p_filter jsonb, p_cursor text, p_limit integer, out ids bigint[], out cursor text, out scanned integer)
language plpgsql volatile as $$
declare
  v_states text[] := case when p_filter ->> 'state' is not null then array[p_filter ->> 'state']
    when p_cursor ~ '^b' then array['ready'] else array['waiting', 'ready'] end;
  v_state text;
  v_page record;
  v_newest bigint := (select s.last_value from tock.positions s);
begin
  ids := '{}';
  scanned := 0;
  if p_filter ->> 'state' is null and p_cursor is not null then
    v_newest := tock.list_below(pg_catalog.right(p_cursor, 12));
    p_cursor := case when p_cursor ~ '^[ab][0-9a-f]{24}$' then pg_catalog.substr(p_cursor, 2, 12) else '' end;
  end if;
  foreach v_state in array v_states loop
    if pg_catalog.cardinality(ids) = p_limit then
      cursor := pg_catalog.lpad(pg_catalog.to_hex((select s.last_value + 1 from tock.positions s)), 12, '0');
    else
      v_page := tock.list_tasks(p_filter || pg_catalog.jsonb_build_object('state', v_state), p_cursor,
        p_limit - pg_catalog.cardinality(ids));
      ids := ids || array(select (t ->> 'id')::bigint from pg_catalog.jsonb_array_elements(v_page.tasks) t
        where tock.position_of((t ->> 'id')::bigint) <= v_newest);
      scanned := scanned + v_page.scanned;
      cursor := v_page.cursor;
    end if;
    p_cursor := null;
    exit when cursor is not null;
  end loop;
  if p_filter ->> 'state' is null then
    cursor := case v_state when 'waiting' then 'a' else 'b' end || cursor
      || pg_catalog.lpad(pg_catalog.to_hex(v_newest), 12, '0');
  end if;
end $$;

create or replace function tock.cancel_where(
  p_queue text, p_filter jsonb default '{}', p_cursor text default null, p_limit integer default 1000)
returns table (matched integer, changed integer, cursor text, scanned integer) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_ids bigint[];
begin
  perform tock.check_queue(p_queue);
  perform tock.check_filter(p_filter, array['waiting', 'ready', 'running'], p_limit, 10000,
    array['state', 'tenant']);
  select l.ids, l.cursor, l.scanned into v_ids, cursor, scanned
  from tock.list_unfinished(p_filter || pg_catalog.jsonb_build_object('queue', p_queue), p_cursor, p_limit) l;
  matched := pg_catalog.cardinality(v_ids);
  changed := case when matched = 0 then 0 else (
    select count(*) from tock.cancel(v_ids) c where c.changed) end;
  return next;
end $$;

comment on function tock.cancel_where is
  'Cancels up to p_limit tasks of a queue ({state: waiting, ready or running, tenant}; without a state the '
  'waiting and ready ones) like cancel(). Returns one row: the numbers matched and changed, and the cursor '
  'of the next page, null at the end. Pages after the first leave out newer tasks.';

-- A changed task moves to the end of another stream; the next page skips it by its priority.
create or replace function tock.reprioritize_where(
  p_queue text, p_filter jsonb, p_priority integer, p_cursor text default null, p_limit integer default 1000)
returns table (matched integer, changed integer, cursor text, scanned integer) language plpgsql
volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
#variable_conflict use_column
declare
  v_ids bigint[];
begin
  perform tock.check_queue(p_queue);
  perform tock.check_filter(p_filter, array['waiting', 'ready', 'running'], p_limit, 10000,
    array['state', 'tenant']);
  perform tock.check_changes(pg_catalog.jsonb_build_object('priority', p_priority));
  select l.ids, l.cursor, l.scanned into v_ids, cursor, scanned
  from tock.list_unfinished(p_filter
    || pg_catalog.jsonb_build_object('queue', p_queue, 'not_priority', p_priority), p_cursor, p_limit) l;
  matched := pg_catalog.cardinality(v_ids);
  changed := case when matched = 0 then 0 else (
    select count(*) from tock.reprioritize(v_ids, p_priority) c where c.changed) end;
  return next;
end $$;

comment on function tock.reprioritize_where is
  'Gives another priority to up to p_limit tasks of a queue with a different one ({state: waiting, ready or '
  'running, tenant}; without a state the waiting and ready ones) like reprioritize(). Returns one row: the '
  'numbers matched and changed, and the cursor of the next page, null at the end. Pages after the first '
  'leave out newer tasks.';
