-- Citus sends a call of ask() to the node of its key: outside of a transaction as one statement, inside as
-- part of the transaction.
select pg_catalog.create_distributed_function('tock_nodes.ask(text,text,text[])', 'p_key',
  colocate_with => 'tock_nodes.keys', force_delegation => true);
