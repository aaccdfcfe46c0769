-- Every run of the task is erased, with the pending changes for its next attempt, and with a note that was
-- for all runs of a lease.
create or replace function tock.erase(p_id bigint)
returns integer language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set jit = off as $$
declare
  v_task tock.resolved_task;
  v_ids bigint[];
  v_n integer := 0;
  v_searched boolean := false;
  v_id bigint;
  v_segment integer;
  v_others bigint[];
  v_erased integer := 0;
begin
  perform tock.check_read_committed('erase');
  select w.* into v_task from tock.resolve_tasks(array[p_id]) w;
  if not found then
    return null;
  elsif v_task.state not in ('done', 'dead', 'cancelled', 'expired') then
    perform tock.refuse(409, 'the task is ' || v_task.state || ': only a task that has ended can be erased',
      'id', 'cancel it first');
  end if;
  -- archived() records no part of the archive meanwhile with the data that is erased here
  perform pg_catalog.pg_advisory_xact_lock_shared(tock.lock_space(),
    tock.named_key('maintenance_job', 'erasing archived tasks'));
  v_ids := array(select v_task.task_id union select v_task.current_id);
  while v_n < pg_catalog.cardinality(v_ids) loop
    v_n := v_n + 1;
    v_id := v_ids[v_n];
    v_segment := tock.segment_of(tock.position_of(v_id));
    if v_segment is not null then
      execute pg_catalog.format($q$
        update tock.run_overrides_%s m set changes = m.changes - 'payload' - 'bytes'
        where m.stream = $1 and m.position = $2 and m.kind = 'amended'$q$, v_segment)
      using tock.stream_of(v_id), tock.position_of(v_id);
    end if;
    if tock.stream_of(v_id) = 0 then
      -- the task gives up its concurrency key; promotion makes it a run, which claims skip
      update tock.waiting w set payload = null, bytes = -1,
        options = tock.without_secrets(w.options), concurrency_key = null,
        ticket = null, due_at = least(w.due_at, pg_catalog.clock_timestamp())
      where w.position = tock.position_of(v_id);
      v_others := array(select p.run_id from tock.promotions p where p.position = tock.position_of(v_id));
    elsif v_segment is null then
      continue when v_searched;
      -- a run of a dropped segment does not link to the next: this scans all runs, which takes long
      v_searched := true;
      v_others := array(select tock.id_at(r.position, r.stream) from tock.runs r
        where r.task_id = v_task.task_id);
    else
      execute pg_catalog.format('select tock.erase_run_%s($1, $2)', v_segment)
        into v_others using tock.stream_of(v_id), tock.position_of(v_id);
      v_erased := v_erased + 1;
    end if;
    v_ids := v_ids || array(select distinct o from unnest(v_others) o where o <> all (v_ids));
  end loop;
  delete from tock.steps s where s.task_id = v_task.task_id;
  delete from tock.event_waits x where x.task_id = v_task.task_id;
  if exists (
    select from unnest(v_ids) i join tock.archives a on tock.position_of(i) >= a.first_position
      and tock.position_of(i) < a.end_position)
  then
    perform tock.request_erasure(v_task.task_id, v_task.queue);
  end if;
  perform tock.write_audit_log('erase', v_task.task_id::text,
    pg_catalog.jsonb_build_object('queue', v_task.queue, 'runs', v_erased));
  return v_erased;
end $$;

comment on function tock.erase is
  'Erases the payload, result, errors, notes, steps, unique key and concurrency key of an ended task and all '
  'its runs, for good after the next vacuum; returns the number of runs. TK409 if it has not ended, null if '
  'there is no such task.';
