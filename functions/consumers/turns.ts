import type { Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { nodesOf } from '../nodes/config.ts';
import type { Consumer, Consumers } from './define.ts';

/** How the consumers of a node end: true if they have found their queues empty. */
type Ends = { get(queue: string): Promise<boolean> | undefined };
type Deferred<T> = { promise: Promise<T>; resolve: (value: T) => void };
/** Of a node without an entry other Workers run the consumers. */
type Turns = ReadonlyMap<number, Deferred<Ends>>;

const failed: Ends = { get: async () => false };

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const routesSql = `select r.key, coalesce(r.node, tock_nodes.this_node()) as node, tock_nodes.this_node() as this_node
  from tock_nodes.routes(p_keys => $1) as r`;

/** The nodes of a queue come in the order of claims: those that it has left, then its owner. */
type Route = { key: string; node: number; this_node: number };

/** Waits until the consumers of a queue on other nodes have ended; false unless all have found it empty. */
async function isTurn(queue: string, before: readonly Route[], turns: Turns): Promise<boolean> {
  for (const { node } of before) {
    const ends = await turns.get(node)?.promise;
    if ((await ends?.get(queue)) === false) return false;
  }
  return true;
}

/**
 * The consumers of the queues of a node, and of those that have left it. While a queue moves, its consumer on the new node
 * waits for those on the old ones, so that old tasks come first.
 */
const ofNode =
  (number: number, consumers: Consumers, turns: Turns): Consumers =>
  async (query: Query, env: Bindings) => {
    const list = typeof consumers === 'function' ? await consumers(query, env) : consumers;
    const routes = (await query(routesSql, [list.map(({ queue }) => queue)])) as Route[];
    const ends = new Map<string, Promise<boolean>>();
    const own = list.flatMap((consumer): Consumer[] => {
      const { queue } = consumer;
      const all = routes.filter(({ key }) => key === queue);
      const at = all.findIndex(({ node, this_node }) => node === this_node);
      if (at < 0) return [];
      const { promise, resolve } = deferred<boolean>();
      ends.set(queue, promise);
      const turn = { begin: () => isTurn(queue, all.slice(0, at), turns), end: resolve };
      return [{ ...consumer, turn }];
    });
    turns.get(number)?.resolve(ends);
    return own;
  };

/** Runs consumers on all nodes at once, each node those of its own queues. */
export function onEachNode<T>(
  env: Bindings,
  consumers: Consumers,
  run: (node: Bindings, consumers: Consumers) => Promise<T>,
): Promise<PromiseSettledResult<T>[]> {
  const nodes = nodesOf(env);
  const all: (readonly [number, Bindings])[] =
    nodes === null || nodes === 'ask' ? [[-1, env]] : [...nodes];
  const turns = new Map(all.map(([number]) => [number, deferred<Ends>()]));
  const runs = all.map(([number, node]) =>
    // A node whose list of consumers is known keeps it.
    run(node, ofNode(number, consumers, turns)).finally(() => turns.get(number)?.resolve(failed)),
  );
  return Promise.allSettled(runs);
}
