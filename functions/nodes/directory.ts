import type { Query } from '../database/types.ts';

/** The owner of each key: a queue's name, or a colon and a range of ids. Null if the directory gives it to no node. */
export type Owners = Map<string, number | null>;

/** A node that a queue has left and that still has tasks of it; `key` leads there. */
export type Left = { node: number; key: string };

/** What an isolate knows of a directory, for all its calls. */
export type Known = {
  owners: Owners;
  /** The queues that are moving, each with the nodes that it has left, the first one first. */
  moves: Map<string, Left[]>;
  moves_until: number;
  nodes?: Map<number, string>;
  nodes_until?: number;
};

export const nothingKnown = (): Known => ({ owners: new Map(), moves: new Map(), moves_until: 0 });

const MAX_KEYS = 10_000;
/** An isolate notices a new node after this time at the latest. */
const NODES_MS = 60_000;
/** An isolate notices after this time that a queue is to move. `tock nodes move` waits twice as long. */
export const MOVES_MS = 5000;
/** If the call that reads the moves for all is killed, another one reads them after this time. */
const KILLED_MS = 1000;

const routesSql = 'select r.key, r.node, r.left_by from tock_nodes.routes(p_keys => $1) as r';
// Not by owner(): a range that no node has been given has a shard, which leads to another node after a drain.
const nodesSql = `select r.node, ':' || min(r.range) as key from tock_nodes.ranges as r
  group by r.node order by r.node`;

const isQueue = (key: string) => !key.startsWith(':');
const areMovesDue = (known: Known) => performance.now() >= known.moves_until;

/** Reads the owners of keys, and which queues are moving. */
async function read(query: Query, known: Known, keys: readonly string[]): Promise<void> {
  known.moves_until = performance.now() + KILLED_MS;
  const rows = await query(routesSql, [keys]);
  if (known.owners.size + keys.length > MAX_KEYS) known.owners.clear();
  for (const queue of known.moves.keys()) known.owners.delete(queue);
  known.moves = new Map();
  for (const { key, node, left_by } of rows as { key: string; node: number; left_by: string }[]) {
    if (left_by === null) known.owners.set(key, node);
    else known.moves.set(key, [...(known.moves.get(key) ?? []), { node, key: left_by }]);
  }
  known.moves_until = performance.now() + MOVES_MS;
}

/**
 * The owners of keys. `query` reads those that are not known. That of a queue that is moving is read for each call, so
 * that all isolates change over at the same moment.
 */
export async function ownersOf(
  query: Query,
  known: Known,
  keys: readonly string[],
): Promise<Owners> {
  const unknown = keys.filter((key) => !known.owners.has(key) || known.moves.has(key));
  const before = new Map(keys.map((key) => [key, known.owners.get(key)]));
  if (unknown.length > 0 || (keys.some(isQueue) && areMovesDue(known)))
    await read(query, known, unknown);
  const isStale = (key: string) => known.moves.has(key) && !unknown.includes(key);
  if (keys.some(isStale)) await read(query, known, keys);
  return new Map(keys.map((key) => [key, known.owners.get(key) ?? before.get(key) ?? null]));
}

/** All nodes that have a range, each with a key that leads to it. */
export async function nodesWithKeys(query: Query, known: Known): Promise<Map<number, string>> {
  const now = performance.now();
  if (!known.nodes || now > (known.nodes_until ?? 0)) {
    const rows = (await query(nodesSql)) as { node: number; key: string }[];
    known.nodes_until = now + NODES_MS;
    known.nodes = new Map(rows.map(({ node, key }) => [node, key]));
  }
  return known.nodes;
}

/** Forgets keys that have moved. */
export function forget(known: Known, keys: readonly string[]): void {
  known.moves_until = 0;
  for (const key of keys) known.owners.delete(key);
}
