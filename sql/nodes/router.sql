-- Citus sends a call of ask() to the node of its key: outside of a transaction as one statement, inside as
-- part of the transaction.
select pg_catalog.create_distributed_function('tock_nodes.ask(text,text,text[])', 'p_key',
  colocate_with => 'tock_nodes.keys', force_delegation => true);

-- Citus would plan a query of the table anew for each claim. It leaves a query of the table's only shard to
-- PostgreSQL, and each server has that shard.
do $do$
begin
  execute pg_catalog.format($sql$
    create or replace function tock_nodes.is_moving(p_queue text)
    returns boolean language plpgsql stable as $$
    begin
      return exists (select from tock_nodes.%I m where m.queue = p_queue);
    end $$ $sql$, (
      select 'moves_' || s.shardid from pg_catalog.pg_dist_shard s
      where s.logicalrelid = 'tock_nodes.moves'::regclass));
end $do$;
