-- Replaces ready runs with changed ones. Returns those that had not started and were not cancelled; n is the
-- id of the replacement. Claims skip their streams until the transaction ends. The replaced run stays in the
-- log with an override. Its replacement is a run at the end of a stream, or a waiting task.
create or replace function tock.replace_runs_anywhere(p_found tock.resolved_task[], p_changes jsonb)
returns tock.resolved_task[] language plpgsql volatile as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_due timestamptz := coalesce((p_changes ->> 'run_at')::timestamptz, v_now);
  v_segment integer;
  v_slot integer := -1;
  v_part tock.resolved_task[];
  v_replaced tock.resolved_task[] := '{}';
begin
  if pg_catalog.cardinality(p_found) = 0 then
    return v_replaced;
  end if;
  perform tock.hold_streams(array(select tock.stream_of(f.current_id) from unnest(p_found) f));
  if v_due <= v_now then
    v_slot := tock.take_slot();
  else
    perform tock.check_waiting_ids();
  end if;
  for v_segment in
    select distinct tock.segment_of(tock.position_of(f.current_id)) as segment from unnest(p_found) f
    order by segment
  loop
    continue when v_segment is null;
    execute pg_catalog.format('select tock.replace_runs_%s($1, $2, $3, $4)', v_segment)
      into v_part using p_found, p_changes, v_due, v_slot;
    v_replaced := v_replaced || v_part;
  end loop;
  perform tock.on_runs_moved(array(select r.current_id from unnest(v_replaced) r));
  return v_replaced;
end $$;
