-- Re-made every time: nothing is executable by PUBLIC; the edge may call verbs and nothing else.
revoke all on schema tock from public;
revoke all on all tables in schema tock from public, tock_edge;
revoke all on all sequences in schema tock from public, tock_edge;
revoke all on all routines in schema tock from public, tock_edge;

grant usage on schema tock to tock_edge;
grant execute on function
  tock.put_queue, tock.queue, tock.enqueue, tock.enqueue_task, tock.claim, tock.retry_after_seconds, tock.complete,
  tock.fail, tock.release, tock.extend, tock.task, tock.queue_stats, tock.tick, tock.next_wake_at,
  tock.create_key, tock.keys_list, tock.revoke_key, tock.authorize, tock.queue_of_lease, tock.queue_of_task
  to tock_edge;
