-- Changes waiting tasks; returns the ids of those that were still waiting.
create or replace function tock.change_waiting(p_found tock.resolved_task[], p_changes jsonb)
returns bigint[] language plpgsql volatile as $$
declare
  v_positions bigint[] := array(
    select w.position from tock.waiting w
    where w.position = any (array(select tock.position_of(f.current_id) from unnest(p_found) f))
    order by w.position for update);
  v_ready bigint[];
  v_at_once boolean := coalesce((p_changes ->> 'run_at')::timestamptz <= pg_catalog.clock_timestamp(), false);
begin
  -- A task that is due at once is made ready below, with the due time -infinity. With its real due time, the
  -- next promotion would start there and miss tasks that became due before it.
  update tock.waiting w set
    priority = coalesce((p_changes ->> 'priority')::smallint, w.priority),
    queue = coalesce(p_changes ->> 'queue', w.queue),
    lane = case when p_changes ? 'queue' then tock.lane_in(p_changes ->> 'queue', w.tenant, w.options)
      else w.lane end,
    due_at = case when w.due_after_parents is not null then w.due_at
      when v_at_once and w.concurrency_key is null then '-infinity'
      -- due now; a task that waits in the wait list of its concurrency key keeps waiting there
      when v_at_once then case when w.due_at = 'infinity' then w.due_at else pg_catalog.clock_timestamp() end
      else coalesce((p_changes ->> 'run_at')::timestamptz, w.due_at) end,
    due_after_parents = case when w.due_after_parents is not null
      then coalesce((p_changes ->> 'run_at')::timestamptz, w.due_after_parents) end,
    -- a postponed task loses its place in the wait list
    ticket = case when not v_at_once and p_changes ? 'run_at' then null else w.ticket end,
    payload = case when p_changes ? 'payload'
      then tock.with_own_payload(w.payload, w.options, p_changes -> 'payload')
      else w.payload end,
    bytes = case when p_changes ? 'payload' and tock.is_whole(w.payload, w.options)
        then pg_catalog.octet_length(tock.with_own_payload(w.payload, w.options,
          p_changes -> 'payload')::text)
      else coalesce((p_changes ->> 'bytes')::integer, w.bytes) end
  where w.position = any (v_positions);
  if v_at_once then
    v_ready := array(select w.position from tock.waiting w
      where w.position = any (v_positions) and w.concurrency_key is null
      and w.due_after_parents is null);
    if pg_catalog.cardinality(v_ready) > 0 then
      perform tock.make_ready(v_ready);
    end if;
  end if;
  return array(select tock.id_at(p, 0) from unnest(v_positions) p);
end $$;
