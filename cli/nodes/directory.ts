import type pg from 'pg';
import { apply } from '../../migrate/apply.ts';
import { Failure } from '../../migrate/failure.ts';
import { readSql } from '../../migrate/files.ts';
import { runStatement } from '../statement.ts';

/** A node: `key` is that of its first range, by which ask() reaches it. */
export type Node = { node: number; name: string; address: string; ranges: number[]; key: string };

const scale = 'See docs/operating/scale.md.';

/** Refuses unless the connection is to the coordinator of a cluster of Citus. */
export async function checkCoordinator(client: pg.Client): Promise<void> {
  const [found] = await runStatement<{ citus: boolean }>(
    client,
    "select exists (select from pg_catalog.pg_extension where extname = 'citus') as citus",
  );
  if (!found?.citus) {
    throw new Failure('This database has no Citus, which sends calls to the nodes.', scale);
  }
  const [local] = await runStatement<{ groupid: number }>(
    client,
    'select groupid from pg_catalog.pg_dist_local_group',
  );
  if (local?.groupid !== 0) {
    throw new Failure(
      `This database is node ${local?.groupid}, not the coordinator of the cluster.`,
      'Give the URL of the coordinator: --database-url',
      2,
    );
  }
}

/** True if the cluster has a directory with nodes. One without was ended in the middle of `tock nodes init`. */
export async function hasDirectory(client: pg.Client): Promise<boolean> {
  const [made] = await runStatement<{ exists: boolean }>(
    client,
    "select pg_catalog.to_regclass('tock_nodes.nodes') is not null as exists",
  );
  return (made?.exists ?? false) && (await readNodes(client)).length > 0;
}

/** Refuses unless the connection is to a coordinator with a directory. */
export async function checkDirectory(client: pg.Client): Promise<void> {
  await checkCoordinator(client);
  if (!(await hasDirectory(client)))
    throw new Failure('This cluster has no directory yet.', 'Make it: tock nodes init URL...');
}

/** Makes the directory on the coordinator, or replaces its functions. Citus copies it to all nodes. */
export async function makeDirectory(client: pg.Client, owner: string): Promise<void> {
  for (const file of readSql().nodes) await apply(client, file);
  // The verbs of a node run with the rights of the owner of the schema tock, and ask the directory.
  const grantee = client.escapeIdentifier(owner);
  for (const [rights, objects] of [
    ['usage', 'schema tock_nodes'],
    ['select', 'tock_nodes.keys, tock_nodes.nodes, tock_nodes.ranges, tock_nodes.moves'],
    ['execute', 'function tock_nodes.owner(text), tock_nodes.this_node()'],
  ]) {
    await runStatement(client, `grant ${rights} on ${objects} to ${grantee}`);
  }
}

export async function readNodes(client: pg.Client): Promise<Node[]> {
  return runStatement<Node>(
    client,
    `select n.node, n.name, n.address, r.ranges, ':' || r.ranges[1] as key
     from tock_nodes.nodes n
     cross join lateral (select array(
       select g.range from tock_nodes.ranges g where g.node = n.node order by g.range) as ranges) r
     order by n.node`,
  );
}

/** The node with a name. */
export function nodeNamed(nodes: Node[], name: string): Node {
  const node = nodes.find((candidate) => candidate.name === name);
  if (node) return node;
  const names = nodes.map((known) => known.name).join(', ');
  throw new Failure(`There is no node ${name}.`, `The nodes are ${names}.`, 3);
}

export const nodeOfNumber = (nodes: Node[], number: number) =>
  nodes.find(({ node }) => node === number);

/** Runs a statement of one text column on the node of a key, and returns its first answer. */
export async function ask(
  client: pg.Client,
  key: string,
  statement: string,
  values: (string | null)[] = [],
): Promise<string | null> {
  const [row] = await runStatement<{ answer: string | null }>(
    client,
    'select a.answer from tock_nodes.ask($1, $2, $3) a (answer)',
    [key, statement, values],
  );
  return row?.answer ?? null;
}

export async function ownerOf(client: pg.Client, key: string): Promise<number> {
  const [row] = await runStatement<{ owner: number }>(
    client,
    'select tock_nodes.owner($1) as owner',
    [key],
  );
  return row?.owner ?? 0;
}

type Shard = { shard: string; alone: boolean; node: number };

async function shardOf(client: pg.Client, key: string): Promise<Shard> {
  const [shard] = await runStatement<Shard>(
    client,
    `select s.shardid::text as shard, s.shardminvalue = s.shardmaxvalue as alone, p.groupid as node
     from pg_catalog.pg_dist_shard s join pg_catalog.pg_dist_placement p using (shardid)
     where s.shardid = pg_catalog.get_shard_id_for_distribution_column('tock_nodes.keys', $1::text)`,
    [key],
  );
  if (!shard) throw new Error(`The key ${key} has no shard.`);
  return shard;
}

/** Moves a shard of the directory to a node. It is empty, so that takes no time. */
export async function moveShard(client: pg.Client, shard: string, node: number): Promise<void> {
  await runStatement(
    client,
    `select pg_catalog.citus_move_shard_placement(p.shardid, f.nodename, f.nodeport, t.nodename, t.nodeport,
       shard_transfer_mode => 'block_writes')
     from pg_catalog.pg_dist_placement p
     join pg_catalog.pg_dist_node f on f.groupid = p.groupid and f.noderole = 'primary'
     join pg_catalog.pg_dist_node t on t.groupid = $2 and t.noderole = 'primary'
     where p.shardid = $1 and p.groupid <> $2`,
    [shard, node],
  );
}

/** Gives a key a shard of its own, on a node. Then that node owns the key, and calls for it go there. */
export async function pin(client: pg.Client, key: string, node: number): Promise<void> {
  const before = await shardOf(client, key);
  if (!before.alone) {
    if (before.node === node && !key.startsWith(':')) return;
    await runStatement(
      client,
      `select pg_catalog.isolate_tenant_to_new_shard('tock_nodes.keys', $1::text,
         shard_transfer_mode => 'block_writes')`,
      [key],
    );
  }
  const { shard } = await shardOf(client, key);
  await moveShard(client, shard, node);
}
