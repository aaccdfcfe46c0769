-- Findings about concurrency keys whose holders have kept them for over an hour while other tasks wait: the
-- first twenty keys of up to 100 queues. A holder may take as long as it needs; after an hour with tasks
-- behind it, an operator should know.
create or replace function tock.doctor_of_concurrency_keys()
returns table (finding text, severity text, detail text, hint text) language plpgsql volatile as $$
declare
  v_queue text := '';
begin
  for v_scan in 1 .. 100 loop
    v_queue := (
      select w.queue from tock.waiting w where w.lost >= 0 and w.ticket > 0 and w.queue > v_queue
      order by w.queue, w.concurrency_key, w.ticket limit 1);
    exit when v_queue is null;
    return query select 'a concurrency key admits no task', 'warning',
        pg_catalog.format('queue %s: concurrency key %s admits %s at a time, and %s; %s behind it', v_queue,
          g.concurrency_key, g.concurrency_limit, g.holders, tock.some_tasks(g.waiting, 'waits', 'wait')),
        pg_catalog.format(
          'see what that task does: tock task %1$s; to admit the next: tock cancel %1$s, or raise the limit '
          'of the concurrency key', g.id)
      from tock.keys_at_limit(v_queue, interval '1 hour') g where not g.paused limit 5;
  end loop;
end $$;
