-- What is inside may take as long as it likes; after an hour with others behind it somebody should know.
create or replace function tock.doctor_of_concurrency_keys()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_queue text;
begin
  for v_scan in 1 .. 100 loop
    v_queue := (
      select w.queue from tock.waiting w where w.ticket is not null and w.queue > coalesce(v_queue, '')
      order by w.queue, w.concurrency_key, w.ticket limit 1);
    exit when v_queue is null;
    return query select 'a concurrency key lets nobody in', 'warning',
        pg_catalog.format('queue %s: concurrency key %s lets %s in at a time, and %s; %s behind it', v_queue,
          g.concurrency_key, g.concurrency_limit, g.holders, tock.some_tasks(g.waiting, 'waits', 'wait')),
        pg_catalog.format(
          'see what that task does: tock task %1$s; to let the next in: tock cancel %1$s, or raise the '
          'concurrency key''s limit', g.id)
      from tock.keys_at_limit(v_queue, interval '1 hour') g where not g.paused limit 5;
  end loop;
end $$;

comment on function tock.doctor_of_concurrency_keys is
  'What doctor() says of concurrency keys, the first twenty of up to 100 queues: full of tasks that are '
  'inside for over '
  'an hour while others wait.';
