import { expect } from 'vitest';
import { withClient } from '../../scripts/stack/roles.ts';
import { tock } from '../cli/tock.ts';
import { sleep } from '../sleep.ts';
import { type CallLog, caller } from './chaos_calls.ts';
import { type Entrance, type SqlSession, UnknownCommit } from './chaos_entrances.ts';
import type { Citus } from './with_citus.ts';

/** What the clients know of their calls. */
export type Records = {
  /** The ids of single tasks by their payload. */
  enqueued: Map<string, string>;
  orders: { committed: Set<string>; unknown: Set<string>; failed: Set<string> };
  /** How often the completion of a task was accepted. */
  completions: Map<string, number>;
  /** The completions that came too late. */
  late: number;
};

const PACE_MS = 100;
/** Clients of each kind. They begin at different entrances. */
const each = [0, 1, 2, 3];

/** The queues of single tasks and of orders. Each node has one of each. */
const singles = (node: number) => `singles-${node}`;
const orders = (node: number) => `orders-${node}`;

/** Makes the directory, queues of the nodes, a table of orders at the coordinator, and a key for the Worker. */
export async function prepareLoad({ server, cli, place }: Citus, nodes: number[]): Promise<string> {
  const { url } = server(1);
  const env = { DATABASE_URL: url };
  expect(await tock(['migrate'], { env })).toMatchObject({ code: 0 });
  const { password } = new URL(url);
  const login = `alter role tock_edge login password '${password}'`;
  await withClient(url, (client) => client.query(login));
  const created = await tock(['key', 'create', 'k', '--scope', 'enqueue,claim', '--json'], { env });
  await cli('nodes', 'init', ...nodes.map((node) => server(node).url));
  for (const node of nodes) {
    await place(singles(node), node);
    await place(orders(node), node);
  }
  await withClient(server(0).url, async (client) => {
    await client.query('create table public.orders (name text primary key)');
    await client.query("select citus_add_local_table_to_metadata('public.orders')");
  });
  return JSON.parse(created.out).key;
}

/**
 * Starts clients at the queues of the nodes. stop() ends the producers, and finish() the consumers, after their calls
 * are answered.
 */
export function startLoad(
  log: CallLog,
  nodes: number[],
  sql: Entrance<SqlSession>[],
  workers: Entrance[],
) {
  const records: Records = {
    enqueued: new Map(),
    orders: { committed: new Set(), unknown: new Set(), failed: new Set() },
    completions: new Map(),
    late: 0,
  };
  const entrances: Entrance[] = [...sql, ...workers];
  let producing = true;
  let consuming = true;

  async function produce(node: number, first: number) {
    const client = caller(log, entrances, first);
    for (let n = 0; producing; n++) {
      const name = `${node}-${first}-${n}`;
      const id = await client.repeat(node, (session) => session.enqueue(singles(node), name));
      records.enqueued.set(name, id);
      await sleep(PACE_MS);
    }
    await client.close();
  }

  async function order(first: number) {
    const { committed, unknown, failed } = records.orders;
    const client = caller(log, sql, first);
    for (let n = 0; producing; n++) {
      const name = `order-${first}-${n}`;
      const at = (first + n) % nodes.length;
      const pair = [nodes[at], nodes[(at + 1) % nodes.length]] as [number, number];
      try {
        await client.call([0, ...pair], (session) => session.order(name, pair.map(orders)));
        committed.add(name);
      } catch (error) {
        (error instanceof UnknownCommit ? unknown : failed).add(name);
      }
      await sleep(PACE_MS);
    }
    await client.close();
  }

  async function consume(first: number) {
    const client = caller(log, entrances, first);
    const queues = nodes.flatMap((node) =>
      [singles, orders].map((of) => ({ node, queue: of(node) })),
    );
    for (let n = first; consuming; n++) {
      const { node, queue } = queues[n % queues.length] as { node: number; queue: string };
      const claimed = await client
        .call([node], (session) => session.claim(queue))
        .catch(() => null);
      if (claimed) {
        const { lease, runs } = claimed;
        const count = await client.repeat(node, (session) => session.complete(lease));
        if (count === 0) records.late++;
        else if (count !== runs.length) throw new Error(`${count} of ${runs.length} in ${lease}`);
        else
          for (const { id } of runs)
            records.completions.set(id, (records.completions.get(id) ?? 0) + 1);
      }
      await sleep(PACE_MS);
    }
    await client.close();
  }

  const producers = [
    ...nodes.flatMap((node) => each.map((n) => produce(node, 2 * n + node))),
    ...each.map(order),
  ];
  const consumers = each.map((n) => consume(2 * n));
  return {
    records,
    async stop() {
      producing = false;
      await Promise.all(producers);
    },
    async finish() {
      consuming = false;
      await Promise.all(consumers);
    },
  };
}
