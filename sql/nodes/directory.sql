-- The directory itself: a table that is always empty. The node of a key's shard owns the key: the name of a
-- queue, or ':' and a range of ids. Its shards move one by one, so no other table may share them: Citus puts
-- tables together whose key has the same type and collation and that have the same number of shards.
create table if not exists tock_nodes.keys (key text collate "C" primary key);

select pg_catalog.create_distributed_table('tock_nodes.keys', 'key', colocate_with => 'none', shard_count => 37)
where not exists (
  select from pg_catalog.pg_dist_partition p where p.logicalrelid = 'tock_nodes.keys'::regclass);

select pg_catalog.create_reference_table(t.name::regclass)
from (values ('tock_nodes.nodes'), ('tock_nodes.ranges'), ('tock_nodes.moves')) t (name)
where not exists (
  select from pg_catalog.pg_dist_partition p where p.logicalrelid = t.name::regclass);

create or replace function tock_nodes.owner(p_key text)
returns integer language sql stable strict as $$
  select p.groupid from pg_catalog.pg_dist_placement p
  where p.shardid = pg_catalog.get_shard_id_for_distribution_column('tock_nodes.keys', p_key)
$$;

comment on function tock_nodes.owner is
  'The number of the node that owns a key: the name of a queue, or '':'' and a range of ids.';

create or replace function tock_nodes.this_node()
returns integer language sql stable as $$
  select g.groupid from pg_catalog.pg_dist_local_group g
$$;

comment on function tock_nodes.this_node is 'The number of this node; 0 is the coordinator.';

create or replace function tock_nodes.plain_tables()
returns setof regclass language sql stable as $$
  select l.relation::regclass
  from pg_catalog.pg_locks l join pg_catalog.pg_class c on c.oid = l.relation
  where l.pid = pg_catalog.pg_backend_pid() and l.mode = 'RowExclusiveLock' and c.relkind = 'r'
    and c.relpersistence <> 't' and c.relnamespace not in ('pg_catalog'::regnamespace,
      'tock_nodes'::regnamespace)
    and not exists (select from pg_catalog.pg_dist_partition p where p.logicalrelid = l.relation)
    and not pg_catalog.relation_is_a_known_shard(l.relation)
$$;

comment on function tock_nodes.plain_tables is
  'The tables that this transaction has written and that Citus does not know. They are committed after what '
  'other nodes have written: if this node crashes in between, a task exists without its data. '
  'citus_add_local_table_to_metadata() makes such a table part of the two-phase commit.';

grant execute on function tock_nodes.plain_tables()
  to tock_producer, tock_worker, tock_admin, tock_edge;
