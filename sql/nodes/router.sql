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

-- Citus does not know of what this node writes to its own tables. With one other node in the transaction it
-- would commit that node first, without a second phase, and a crash in between would leave half of it. So once
-- a transaction has both, this deletes no row of the node's own shard of keys: Citus then commits in two
-- phases. The coordinator has no such shard, and no tasks.
create or replace function tock_nodes.commit_together(p_here boolean)
returns void language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp as $$
declare
  v_key text;
begin
  if pg_catalog.current_setting('tock_nodes.together', true) = 'on' or tock_nodes.this_node() = 0
    or not (case when p_here then exists (
        select from pg_catalog.get_current_transaction_id() t
        where t.transaction_number > 0 and t.initiator_node_identifier = tock_nodes.this_node())
      else pg_catalog.pg_current_xact_id_if_assigned() is not null end)
  then
    return;
  end if;
  v_key := ':' || (select min(r.range) from tock_nodes.ranges r where r.node = tock_nodes.this_node());
  delete from tock_nodes.keys k where k.key = v_key;
  perform pg_catalog.set_config('tock_nodes.together', 'on', true);
end $$;
