-- The queue of the next run or waiting task with this id; null if there is none.
create or replace function tock.next_queue_of(p_next_id bigint)
returns text language sql stable as $$
  select coalesce(
    (select s.queue from tock.streams s where s.number = tock.stream_of(p_next_id)),
    (select w.queue from tock.waiting w where w.position = tock.position_of(p_next_id)),
    (select s.queue from tock.promotions p join tock.streams s on s.number = tock.stream_of(p.run_id)
     where p.position = tock.position_of(p_next_id)))
$$;

-- True if an ended run ended as done and its task went to this stage (null: to none).
create or replace function tock.was_ended_so(p_run tock.leased_run, p_stages boolean, p_stage text)
returns boolean language plpgsql stable as $$
begin
  return case
    when not p_stages then p_run.state = 'done' and p_run.next_id is null
    when p_run.state = 'done' then coalesce(tock.next_queue_of(p_run.next_id), '') = coalesce(p_stage, '')
    -- the run was done, but its task had been cancelled
    else p_run.state = 'cancelled' and p_run.error is not distinct from 'null' and p_stage is not null end;
end $$;

-- The fields of runs that continue in another stage without a result, in the order of p_ended, null for the
-- others. p_all: they were completed as a whole lease.
create or replace function tock.unchanged_fields(
  p_ended tock.ending[], p_runs tock.leased_run[], p_all boolean)
returns text[] language plpgsql immutable as $$
begin
  return array(
    select case when e.queue is null or e.payload is not null then null
      when p_all then 'results' else pg_catalog.format('results[%s].result', r.n - 1) end
    from unnest(p_ended) with ordinality
      e(stream, position, state, result, error, again_at, attempt, lost, queue, payload, n)
    join (select u.position, min(u.n) as n from unnest(p_runs) u group by u.position) r
      on r.position = e.position
    order by e.n);
end $$;
