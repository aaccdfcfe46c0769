import type pg from 'pg';
import { Failure } from '../../migrate/failure.ts';
import { runStatement } from '../statement.ts';
import { plural } from '../table.ts';
import { ask, moveShard, type Node, nodeOfNumber, ownerOf, pin } from './directory.ts';

/** What a node has of a queue, as tock.queue_to_move() returns it. `row` is null if only tasks are there. */
type Stay = {
  node: Node;
  row: object | null;
  tasks: number;
  paused: boolean | null;
  keys: object[];
  schedules: string[];
};

/** A queue and the tasks that it still has on other nodes than its own. */
export type Moved = { queue: string; node: string; left: { node: string; tasks: number }[] };

/** The nodes that have a queue. All nodes are asked, also those that the directory doesn't name. */
async function stays(client: pg.Client, nodes: Node[], queue: string): Promise<Stay[]> {
  const found: Stay[] = [];
  for (const node of nodes) {
    const text = await ask(client, node.key, 'select tock.queue_to_move(%1$L)::text', [queue]);
    if (text) found.push({ node, ...JSON.parse(text) });
  }
  return found;
}

function checkSchedules(queue: string, stay: Stay): void {
  if (stay.schedules.length === 0) return;
  throw new Failure(
    `Queue ${queue} has ${plural(stay.schedules.length, 'schedule')} on ${stay.node.name}: ${stay.schedules.join(', ')}.`,
    'A schedule lives with its queue. Drop it there, move the queue, then put the schedule again.',
  );
}

function checkPaused(queue: string, stay: Stay): void {
  if (!stay.paused || stay.tasks === 0) return;
  throw new Failure(
    `Queue ${queue} is paused on ${stay.node.name} and has ${plural(stay.tasks, 'task')}, which would stay there.`,
    `Resume it first: tock queue resume ${queue}`,
  );
}

/** Claims ask these nodes first, from before the queue moves. */
async function recordStays(client: pg.Client, queue: string, from: Stay[]): Promise<void> {
  for (const { node } of from) {
    await runStatement(
      client,
      'insert into tock_nodes.moves (queue, node) values ($1, $2) on conflict do nothing',
      [queue, node.node],
    );
  }
}

const forget = (client: pg.Client, queue: string, node: Node) =>
  runStatement(client, 'delete from tock_nodes.moves where queue = $1 and node = $2', [
    queue,
    node.node,
  ]);

/** The number of tasks that a queue still has on a node that it has left; 0 once it is forgotten there. */
async function leave(client: pg.Client, queue: string, stay: Stay): Promise<number> {
  if (stay.tasks > 0) return stay.tasks;
  // A claim asks no node that has forgotten the queue, so the entry goes first.
  await forget(client, queue, stay.node);
  let tasks = 1;
  try {
    const left = await ask(client, stay.node.key, 'select tock.leave_queue(%1$L)::text', [queue]);
    tasks = Number(left);
  } finally {
    if (tasks > 0) await recordStays(client, queue, [stay]);
  }
  return tasks;
}

async function adopt(client: pg.Client, to: Node, { row, keys }: Stay): Promise<void> {
  await ask(client, to.key, 'select tock.adopt_queue(%1$L, %2$L)::text', [
    JSON.stringify(row),
    JSON.stringify(keys),
  ]);
}

/**
 * Makes everything ready for a queue on another node: its settings there, and the entry of each node that has tasks of
 * it.
 */
async function prepareMove(client: pg.Client, nodes: Node[], queue: string, to: Node) {
  const found = await stays(client, nodes, queue);
  const others = found.filter(({ node }) => node !== to);
  for (const stay of others) {
    checkSchedules(queue, stay);
    checkPaused(queue, stay);
  }
  const owner = await ownerOf(client, queue);
  const source = found.find(({ node }) => node.node === owner) ?? others[0];
  await recordStays(client, queue, others);
  if (source?.row && source.node !== to) await adopt(client, to, source);
  await forget(client, queue, to);
}

/**
 * Moves a queue: new tasks go to the new node, and claims to the old one until it is empty. Repeated, it goes on where
 * it stopped, and the old node forgets the queue once it has no task of it.
 */
export async function move(
  client: pg.Client,
  nodes: Node[],
  queue: string,
  to: Node,
): Promise<Moved> {
  await prepareMove(client, nodes, queue, to);
  await pin(client, queue, to.node);
  return finish(client, nodes, queue, to);
}

async function finish(client: pg.Client, nodes: Node[], queue: string, to: Node): Promise<Moved> {
  const left: Moved['left'] = [];
  for (const stay of await stays(client, nodes, queue)) {
    if (stay.node === to) continue;
    // The queue may have been made there while it moved.
    await recordStays(client, queue, [stay]);
    const tasks = await leave(client, queue, stay);
    if (tasks > 0) left.push({ node: stay.node.name, tasks });
  }
  return { queue, node: to.name, left };
}

/** Places a queue that no node has yet, or brings a range of ids back to its node. */
export async function place(
  client: pg.Client,
  nodes: Node[],
  key: string,
  to: Node,
): Promise<Moved> {
  if (key.startsWith(':')) {
    if (!to.ranges.includes(Number(key.slice(1))))
      throw new Failure(`${key} is not a range of ${to.name}.`, 'See: tock nodes list', 2);
    await pin(client, key, to.node);
    return { queue: key, node: to.name, left: [] };
  }
  const [stay] = (await stays(client, nodes, key)).filter(({ node }) => node !== to);
  if (stay)
    throw new Failure(
      `${stay.node.name} has queue ${key} already.`,
      `Move it: tock nodes move ${key} ${to.name}`,
    );
  await pin(client, key, to.node);
  return finish(client, nodes, key, to);
}

const shardsOf = `
  select p.shardid::text as shard, array(
    select ':' || r.range from tock_nodes.ranges r
    where pg_catalog.get_shard_id_for_distribution_column('tock_nodes.keys', ':' || r.range) = p.shardid)
    as ranges
  from pg_catalog.pg_dist_placement p join pg_catalog.pg_dist_shard s using (shardid)
  where s.logicalrelid = 'tock_nodes.keys'::regclass and p.groupid = $1
  order by p.shardid`;

const queuesHere = `
  select coalesce(pg_catalog.jsonb_agg(q.name order by q.name), '[]')::text from tock.queues q
  where q.name not in ('*', 'tock-webhooks')`;

/** The queues of a node. */
export async function queuesOf(client: pg.Client, node: Node): Promise<string[]> {
  return JSON.parse((await ask(client, node.key, queuesHere)) ?? '[]');
}

/** Moves all queues of a node to others, in turn, and its share of the names that no queue has yet. */
export async function drain(client: pg.Client, nodes: Node[], from: Node): Promise<Moved[]> {
  const others = nodes.filter((node) => node !== from);
  let turn = 0;
  const next = () => others[turn++ % others.length] as Node;
  if (others.length === 0) throw new Failure('There is no other node.', 'Add one: tock nodes add');
  const moved: Moved[] = [];
  for (const queue of await queuesOf(client, from)) {
    const owner = nodeOfNumber(nodes, await ownerOf(client, queue));
    const to = owner && owner !== from ? owner : next();
    moved.push(await move(client, nodes, queue, to));
  }
  const shards = await runStatement<{ shard: string; ranges: string[] }>(client, shardsOf, [
    from.node,
  ]);
  for (const { shard, ranges } of shards)
    if (ranges.length === 0) await moveShard(client, shard, next().node);
  // A queue that was made meanwhile.
  for (const queue of await queuesOf(client, from)) {
    if (moved.some((known) => known.queue === queue)) continue;
    const owner = nodeOfNumber(nodes, await ownerOf(client, queue));
    if (owner && owner !== from) moved.push(await move(client, nodes, queue, owner));
  }
  return moved;
}
