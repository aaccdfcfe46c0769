import { type OpenConnection, openConnection } from '../consumers/serial_connection.ts';
import { statementLimit } from '../database/connect.ts';
import { misconfigured } from '../database/errors.ts';
import type { Connect, Query } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { askBy } from './ask.ts';
import type { Nodes } from './config.ts';
import {
  forget,
  type Known,
  type Left,
  nodesWithKeys,
  nothingKnown,
  type Owners,
  ownersOf,
} from './directory.ts';
import { fromNode, isDown } from './errors.ts';

/** A node, and how its statements reach it. Its number is null if it need not be known. */
export type Place = { node: number | null; query: Query };
export type Group = { place: Place; keys: string[] };

/** The ways of one call to the nodes. */
export type Router = {
  /** The owners of keys, each with its keys. */
  split(keys: readonly string[]): Promise<Group[]>;
  owners(keys: readonly string[]): Promise<Owners>;
  /** The nodes that have tasks of each queue, in the order of claims: those that it has left, then its owner. */
  places(queues: readonly string[]): Promise<Map<string, Place[]>>;
  /** Forgets keys that have moved. */
  forget(keys: readonly string[]): void;
  all(): Promise<(Place & { node: number })[]>;
};

/** What is known of each directory, by the bindings that lead to it. */
const known = new WeakMap<Connect, Map<string, Known>>();

function knownOf(connect: Connect, { TOCK_NODES, DATABASE_URL, HYPERDRIVE }: Bindings): Known {
  const byAddress = known.get(connect) ?? new Map<string, Known>();
  known.set(connect, byAddress);
  const address = JSON.stringify([TOCK_NODES, DATABASE_URL, HYPERDRIVE?.connectionString]);
  const directory = byAddress.get(address) ?? nothingKnown();
  byAddress.set(address, directory);
  return directory;
}

function withLeft(
  { moves }: Known,
  owners: Owners,
  placeOf: (queue: string) => Place,
  placeLeft: (left: Left) => Place,
): Map<string, Place[]> {
  const left = (queue: string, owner: number | null) =>
    (moves.get(queue) ?? []).filter(({ node }) => node !== owner).map(placeLeft);
  return new Map(
    [...owners].map(([queue, owner]) => [queue, [...left(queue, owner), placeOf(queue)]]),
  );
}

function grouped(keys: readonly string[], owners: Owners, placeOf: (key: string) => Place) {
  const groups = new Map<number | null, Group>();
  for (const key of keys) {
    const owner = owners.get(key) ?? null;
    const group = groups.get(owner) ?? { place: placeOf(key), keys: [] };
    groups.set(owner, group);
    group.keys.push(key);
  }
  return [...groups.values()];
}

/** Connections to nodes for one call. Each is opened at its first statement. */
function connections(connect: Connect, nodes: ReadonlyMap<number, Bindings>) {
  const current = new Map<number, Promise<OpenConnection>>();
  const ready: OpenConnection[] = [];
  let isOver = false;
  function open(node: number): Promise<OpenConnection> {
    const bindings = nodes.get(node);
    if (!bindings)
      throw misconfigured(`TOCK_NODES lacks node ${node}.`, `add ${node}=… to TOCK_NODES`);
    const opening = openConnection(connect, bindings);
    current.set(node, opening);
    opening.then(
      (connection) => {
        if (isOver) connection.close();
        else ready.push(connection);
      },
      () => {},
    );
    return opening;
  }
  return {
    to(node: number): Query {
      return async (text, values) => {
        try {
          const { query } = await (current.get(node) ?? open(node));
          return await query(text, values);
        } catch (error) {
          // The next look of a waiting call opens another one.
          if (isDown(error)) current.delete(node);
          throw fromNode(error, node);
        }
      };
    },
    async close(): Promise<void> {
      // A connection that opens later is closed then: a node that does not answer must not delay the others.
      isOver = true;
      for (const connection of ready) connection.close();
      await Promise.allSettled(ready.map(({ closed }) => closed));
    },
  };
}

/** Sends the statements of `use` straight to the nodes. */
async function straight<T>(
  connect: Connect,
  env: Bindings,
  nodes: ReadonlyMap<number, Bindings>,
  use: (router: Router) => Promise<T>,
): Promise<T> {
  const directory = knownOf(connect, env);
  const { to, close } = connections(connect, nodes);
  const numbers = [...nodes.keys()].sort((a, b) => a - b);
  const [first = 0] = numbers;
  /** Each node has the whole directory, so one that is down is passed over. The owner of a key is asked first. */
  const askNear =
    (near?: number | null): Query =>
    async (text, values) => {
      let failure: unknown;
      for (const node of numbers.toSorted((a, b) => Number(b === near) - Number(a === near))) {
        try {
          return await to(node)(text, values);
        } catch (error) {
          if (!isDown(error)) throw error;
          failure ??= error;
        }
      }
      throw failure;
    };
  async function owners(keys: readonly string[]): Promise<Owners> {
    const near = directory.owners.get(keys[0] ?? '');
    const found = await ownersOf(askNear(near), directory, keys);
    // What the directory gives to no node is on the first one, so that all Workers agree.
    return new Map([...found].map(([key, node]) => [key, node ?? first]));
  }
  const place = (node: number) => ({ node, query: to(node) });
  const router: Router = {
    owners,
    async split(keys) {
      const known = await owners(keys);
      return grouped(keys, known, (key) => place(known.get(key) ?? first));
    },
    async places(queues) {
      const known = await owners(queues);
      const placeOf = (queue: string) => place(known.get(queue) ?? first);
      return withLeft(directory, known, placeOf, ({ node }) => place(node));
    },
    forget: (keys) => forget(directory, keys),
    all: async () => numbers.map(place),
  };
  try {
    return await use(router);
  } finally {
    await close();
  }
}

/** Sends the statements of `use` by way of one database. */
function byAsking<T>(
  connect: Connect,
  env: Bindings,
  use: (router: Router, most?: number) => Promise<T>,
): Promise<T> {
  const directory = knownOf(connect, env);
  return connect(env, (query, most) => {
    const placeOf = (key: string, node: number | null): Place => ({
      node,
      query: (text, values) =>
        askBy(query, key)(text, values).catch((error) => {
          throw fromNode(error, node);
        }),
    });
    const owners = (keys: readonly string[]) => ownersOf(query, directory, keys);
    return use(
      {
        owners,
        async split(keys) {
          const [key] = keys;
          // The database that is asked looks up the owner of a single key.
          if (key !== undefined && keys.length === 1)
            return [{ place: placeOf(key, null), keys: [key] }];
          const found = await owners(keys);
          return grouped(keys, found, (one) => placeOf(one, found.get(one) ?? null));
        },
        async places(queues) {
          const found = await owners(queues);
          const place = (queue: string) => placeOf(queue, found.get(queue) ?? null);
          return withLeft(directory, found, place, ({ key, node }) => placeOf(key, node));
        },
        forget: (keys) => forget(directory, keys),
        async all() {
          const nodes = await nodesWithKeys(query, directory);
          if (nodes.size === 0)
            throw misconfigured('No node has a range of ids.', 'give a node one: tock nodes found');
          return [...nodes].map(([node, key]) => ({ ...placeOf(key, node), node }));
        },
      },
      most,
    );
  });
}

/** How often a call may send its statement, if there is a limit: each time it may go to every node. */
export function statementsOf(nodes: ReadonlyMap<number, Bindings>): number | undefined {
  const limits = [...nodes.values()].flatMap((bindings) => statementLimit(bindings) ?? []);
  return limits.length > 0 ? Math.floor(Math.min(...limits) / nodes.size) : undefined;
}

/** Opens the ways to the nodes for one call; `most` is the maximum number of statements, if there is a limit. */
export function withRouter<T>(
  connect: Connect,
  env: Bindings,
  nodes: Nodes,
  use: (router: Router, most?: number) => Promise<T>,
): Promise<T> {
  if (nodes === 'ask') return byAsking(connect, env, use);
  const most = statementsOf(nodes);
  return straight(connect, env, nodes, (router) => use(router, most));
}
