-- ask() runs with the rights of its caller, who gets no more on the other node than by a connection to it.
revoke all on schema tock_nodes from public;
revoke all on all functions in schema tock_nodes from public;
grant usage on schema tock_nodes to tock_producer, tock_worker, tock_admin, tock_edge;
-- owner() reads where the shards of keys are, which needs a right to that table. It has no rows.
grant select on tock_nodes.keys, tock_nodes.nodes, tock_nodes.ranges, tock_nodes.moves
  to tock_producer, tock_worker, tock_admin, tock_edge;
grant execute on function
  tock_nodes.owner(text), tock_nodes.this_node(), tock_nodes.ask(text, text, text[]),
  tock_nodes.answers(text, text, text[]), tock_nodes.task_key(bigint), tock_nodes.lease_key(uuid),
  tock_nodes.is_here(text), tock_nodes.commit_together(boolean), tock_nodes.is_moving(text),
  tock_nodes.claim_keys(text), tock_nodes.routes(text[]), tock_nodes.enqueue(text, jsonb, text),
  tock_nodes.claim(text, text, integer, integer, text), tock_nodes.complete(uuid, jsonb),
  tock_nodes.fail(uuid, jsonb), tock_nodes.extend(uuid, integer, jsonb),
  tock_nodes.release(uuid, bigint[]), tock_nodes.task(bigint)
  to tock_producer, tock_worker, tock_admin, tock_edge;
grant execute on function tock_nodes.copy_key(jsonb, integer) to tock_admin, tock_edge;
