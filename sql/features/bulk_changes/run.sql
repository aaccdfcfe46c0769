-- A page and its cursor are in one subtransaction, so a page that fails changes nothing and is tried again.
-- One that meets a lock is tried again until the lock is gone. Each page of a reprioritize keeps claims from
-- its streams until the transaction ends, so another page follows a second later. The row of a change is
-- locked first; the other locks are those of its verb. The audit log has the start, and no pages.
create or replace function tock.run_bulk_changes(p_limit integer default 5000, p_seconds integer default 2)
returns integer language plpgsql volatile as $$
declare
  v_until timestamptz := pg_catalog.clock_timestamp() + p_seconds * interval '1 s';
  v_row tock.bulk_changes;
  v_page record;
  v_failures integer;
  v_pages integer := 0;
begin
  loop
    select b.* into v_row from tock.bulk_changes b
    where b.state = 'running' and b.due_at <= pg_catalog.clock_timestamp()
    order by b.due_at limit 1 for update skip locked;
    exit when not found;
    begin
      case v_row.change
        when 'cancel' then
          select c.matched, c.changed, c.cursor into v_page
          from tock.cancel_where(v_row.queue, v_row.filter, v_row.cursor, p_limit) c;
        when 'reprioritize' then
          select c.matched, c.changed, c.cursor into v_page
          from tock.reprioritize_where(v_row.queue, v_row.filter,
            (v_row.options ->> 'priority')::numeric::integer, v_row.cursor, p_limit) c;
        else
          select pg_catalog.cardinality(r.ids) as matched, pg_catalog.cardinality(r.ids) as changed, r.cursor
            into v_page
          from tock.redrive_page(v_row.queue, v_row.filter, p_limit, v_row.cursor,
            v_row.options ->> 'to_queue', (v_row.options ->> 'again')::boolean,
            v_row.options ->> 'reason') r;
      end case;
      update tock.bulk_changes b set
        matched = b.matched + v_page.matched, changed = b.changed + v_page.changed, cursor = v_page.cursor,
        failures = 0, error = null,
        due_at = pg_catalog.clock_timestamp() + case b.change when 'reprioritize' then 1 else 0 end
          * interval '1 s',
        state = case when v_page.cursor is null then 'done' else 'running' end,
        ended_at = case when v_page.cursor is null then pg_catalog.clock_timestamp() end
      where b.id = v_row.id;
    exception when others then
      v_failures := v_row.failures
        + case when sqlstate in ('55P03', '40001', '40P01', 'TK503') then 0 else 1 end;
      update tock.bulk_changes b set
        failures = v_failures, error = pg_catalog.concat(sqlstate, ' ', sqlerrm),
        due_at = pg_catalog.clock_timestamp() + interval '10 s',
        state = case when v_failures < 5 then 'running' else 'failed' end,
        ended_at = case when v_failures < 5 then null else pg_catalog.clock_timestamp() end
      where b.id = v_row.id;
    end;
    v_pages := v_pages + 1;
    exit when pg_catalog.clock_timestamp() >= v_until;
  end loop;
  return v_pages;
end $$;

comment on function tock.run_bulk_changes is
  'Does pages of up to p_limit tasks of the running bulk changes in turn, for up to p_seconds (0: one page), '
  'and returns their number. A change fails after five failed pages in a row; those that met a lock do not '
  'count.';
