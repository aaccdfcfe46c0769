-- Does a page of up to p_limit tasks of the running bulk change that is due first, and returns 1; 0 if none
-- is due. A change fails after five failed pages in a row. Pages that met a lock, a full disk or a dropped
-- segment do not count. A page and its cursor are in one subtransaction, so a page that fails changes nothing
-- and is tried again. A call does one page: its locks last until the transaction ends, and those of two pages
-- could meet a caller's in another order. A page of a reprioritize keeps claims from its streams, so another
-- follows a second later; its 1,000 tasks lie in at most as many streams as change() takes. The row of a
-- change is locked first; the other locks are those of its verb. The audit log has the start, and no pages.
create or replace function tock.run_bulk_changes(p_limit integer default 5000)
returns integer language plpgsql volatile as $$
declare
  v_row tock.bulk_changes;
  v_most integer;
  v_page record;
begin
  select b.* into v_row from tock.bulk_changes b
  where b.state = 'running' and b.due_at <= pg_catalog.clock_timestamp()
  order by b.due_at limit 1 for update skip locked;
  if not found then
    return 0;
  end if;
  -- a page that took too long gets smaller
  v_most := greatest(1, case v_row.change when 'reprioritize' then least(p_limit, 1000) else p_limit end
    >> 2 * v_row.failures);
  case v_row.change
    when 'cancel' then
      select c.matched, c.changed, c.cursor into v_page
      from tock.cancel_where(v_row.queue, v_row.filter, v_row.cursor, v_most) c;
    when 'reprioritize' then
      select c.matched, c.changed, c.cursor into v_page
      from tock.reprioritize_where(v_row.queue, v_row.filter,
        (v_row.options ->> 'priority')::numeric::integer, v_row.cursor, v_most) c;
    else
      select pg_catalog.cardinality(r.ids) as matched, pg_catalog.cardinality(r.ids) as changed, r.cursor
        into v_page
      from tock.redrive_page(v_row.queue, v_row.filter, v_most, v_row.cursor, v_row.options ->> 'to_queue',
        (v_row.options ->> 'again')::boolean, v_row.options ->> 'reason') r;
  end case;
  update tock.bulk_changes b set
    matched = b.matched + v_page.matched, changed = b.changed + v_page.changed, cursor = v_page.cursor,
    failures = 0, error = null,
    due_at = pg_catalog.clock_timestamp() + case b.change when 'reprioritize' then 1 else 0 end
      * interval '1 s',
    state = case when v_page.cursor is null then 'done' else 'running' end,
    ended_at = case when v_page.cursor is null then pg_catalog.clock_timestamp() end
  where b.id = v_row.id;
  return 1;
exception when others then
  perform tock.bulk_page_failed(v_row.id, sqlstate, sqlerrm);
  return 1;
end $$;

-- Records that a page of a bulk change failed: of this one, or with null of the one that is due first. A
-- cancelled call loses its page, and run_maintenance() does not know which change it was. Another session may
-- have begun the page again by then: its row is skipped.
create or replace function tock.bulk_page_failed(p_id bigint, p_sqlstate text, p_error text)
returns void language plpgsql volatile as $$
declare
  v_id bigint := coalesce(p_id, (select b.id from tock.bulk_changes b
    where b.state = 'running' and b.due_at <= pg_catalog.clock_timestamp()
    order by b.due_at limit 1 for update skip locked));
  v_counts integer := case when p_sqlstate ~ '^(40|42P01|42883|53|55P03|TK503)' then 0 else 1 end;
begin
  update tock.bulk_changes b set
    failures = b.failures + v_counts, error = pg_catalog.concat(p_sqlstate, ' ', p_error),
    due_at = pg_catalog.clock_timestamp() + interval '10 s',
    state = case when b.failures + v_counts < 5 then 'running' else 'failed' end,
    ended_at = case when b.failures + v_counts < 5 then null else pg_catalog.clock_timestamp() end
  where b.id = v_id and b.state = 'running';
end $$;
