-- The run stays where it is, marked, and another takes its place: a run at the end of a stream,
-- or a waiting entry.
create or replace function tock.supersede(p_found tock.whereabout[], p_changes jsonb)
returns tock.whereabout[]
language plpgsql
volatile
as $$
declare
  v_now timestamptz := pg_catalog.clock_timestamp();
  v_due timestamptz := coalesce((p_changes ->> 'run_at')::timestamptz, v_now);
  v_epoch integer;
  v_slot integer := -1;
  v_part tock.whereabout[];
  v_replaced tock.whereabout[] := '{}';
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
  for v_epoch in
    select distinct tock.epoch_of(tock.position_of(f.current_id)) as epoch from unnest(p_found) f
    order by epoch
  loop
    continue when v_epoch is null;
    execute pg_catalog.format('select tock.replace_runs_%s($1, $2, $3, $4)', v_epoch)
      into v_part using p_found, p_changes, v_due, v_slot;
    v_replaced := v_replaced || v_part;
  end loop;
  perform tock.on_runs_moved(array(select r.current_id from unnest(v_replaced) r));
  return v_replaced;
end $$;

comment on function tock.supersede is
  'Replaces ready runs by changed ones; returns those that had not started or been cancelled, n being the id '
  'of what replaces them. Until the transaction ends no claim takes from their streams.';
