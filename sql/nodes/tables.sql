-- The directory of several nodes that share the queues. `tock nodes init` makes it on the coordinator of a
-- cluster of Citus, which copies it to all nodes. The migrator does not: a database alone has no schema
-- tock_nodes. Nothing here has a type of the schema tock, or names it outside of a body: Citus would then
-- take that schema over, and no node could make functions in it any more.
create schema if not exists tock_nodes;

-- The nodes. A node is a group of Citus. The address is where clients reach it, "host:port" or
-- "host:port/database"; user and password are those of the client's own URL.
create table if not exists tock_nodes.nodes (
  node integer primary key,
  name text not null unique,
  address text not null
);

-- The node of each range of ids, for good.
create table if not exists tock_nodes.ranges (
  range integer primary key,
  node integer not null
);

create index if not exists ranges_by_node on tock_nodes.ranges (node);

-- The nodes that still have tasks of a queue that has moved. A claim asks them before the owner.
create table if not exists tock_nodes.moves (
  queue text not null,
  node integer not null,
  moved_at timestamptz not null default now(),
  primary key (queue, node)
);
