import type pg from 'pg';
import { pause } from '../../client/pause.ts';
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

/** A queue and the node to which it is to move. */
type Goal = { queue: string; to: Node };

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

/** Each node has a default policy and a queue of webhooks of its own, and a range stays with its node. */
function checkQueue(queue: string): void {
  if (/^[A-Za-z0-9]/.test(queue) && queue !== 'tock-webhooks') return;
  throw new Failure(
    `${queue} is not a queue that can be on one node.`,
    'Give the name of a queue.',
    2,
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

/** Twice the time after which each HTTP server knows which queues are to move. */
const NOTICE = '10 seconds';

const noticeLeft = `
  select coalesce(ceil(1000 * extract(epoch from max(m.moved_at) + $2::interval - clock_timestamp())), 0)::integer as ms
  from tock_nodes.moves m where m.queue = any ($1)`;

/** Records the nodes from which queues are to move, and waits until each HTTP server asks for their owners anew. */
async function announce(client: pg.Client, nodes: Node[], goals: Goal[]): Promise<void> {
  const moving: string[] = [];
  const announced: (Goal & { others: Stay[] })[] = [];
  for (const { queue, to } of goals) {
    const others = (await stays(client, nodes, queue)).filter(({ node }) => node !== to);
    for (const stay of others) checkPaused(queue, stay);
    announced.push({ queue, to, others });
  }
  for (const { queue, to, others } of announced) {
    await recordStays(client, queue, others);
    if (others.length > 0 && (await ownerOf(client, queue)) !== to.node) moving.push(queue);
  }
  const [left] = await runStatement<{ ms: number }>(client, noticeLeft, [moving, NOTICE]);
  await pause(Math.max(0, left?.ms ?? 0));
}

/** Lets the new node know the request ids of the last enqueues, so that it repeats none of them. */
async function copyRequests(client: pg.Client, queue: string, from: Stay[], to: Node) {
  for (const { node } of from) {
    const sent = await ask(client, node.key, 'select tock.requests_to_move(%1$L)::text', [queue]);
    if (sent !== '[]') await ask(client, to.key, 'select tock.adopt_requests(%1$L)::text', [sent]);
  }
}

/** Moves a queue that has been announced: its settings, then its new tasks. */
async function change(client: pg.Client, nodes: Node[], { queue, to }: Goal): Promise<Moved> {
  const found = await stays(client, nodes, queue);
  const others = found.filter(({ node }) => node !== to);
  const owner = await ownerOf(client, queue);
  const source = found.find(({ node }) => node.node === owner) ?? others[0];
  if (source?.row && source.node !== to) await adopt(client, to, source);
  await copyRequests(client, queue, others, to);
  await pin(client, queue, to.node);
  // Those of the calls that came meanwhile.
  await copyRequests(client, queue, others, to);
  await forget(client, queue, to);
  return finish(client, nodes, queue, to);
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
  checkQueue(queue);
  await announce(client, nodes, [{ queue, to }]);
  return change(client, nodes, { queue, to });
}

/**
 * Moves the schedules of a queue between two nodes, in one transaction with two phases. A schedule of which the next
 * task depends on the last one stays until that has ended.
 */
async function moveSchedules(client: pg.Client, queue: string, from: Node, to: Node) {
  await runStatement(client, 'begin');
  try {
    const taken = await ask(client, from.key, 'select tock.take_schedules(%1$L)::text', [queue]);
    if (taken !== '[]')
      await ask(client, to.key, 'select tock.adopt_schedules(%1$L)::text', [taken]);
    await runStatement(client, 'commit');
  } catch (error) {
    await runStatement(client, 'rollback');
    throw error;
  }
}

async function finish(client: pg.Client, nodes: Node[], queue: string, to: Node): Promise<Moved> {
  const left: Moved['left'] = [];
  for (const stay of await stays(client, nodes, queue)) {
    if (stay.node === to) continue;
    // The queue may have been made there while it moved.
    await recordStays(client, queue, [stay]);
    if (stay.schedules.length > 0) await moveSchedules(client, queue, stay.node, to);
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
  checkQueue(key);
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
  const goals: Goal[] = [];
  for (const queue of await queuesOf(client, from)) {
    const owner = nodeOfNumber(nodes, await ownerOf(client, queue));
    goals.push({ queue, to: owner && owner !== from ? owner : next() });
  }
  await announce(client, nodes, goals);
  const moved: Moved[] = [];
  for (const goal of goals) moved.push(await change(client, nodes, goal));
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
