import { expect } from 'vitest';
import { brokenSentences } from '../../scripts/chaos/checker/invariants.ts';
import { withClient } from '../../scripts/stack/roles.ts';
import { sleep } from '../sleep.ts';
import { rows, value, waitUntil } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { type CallLog, type Life, percentile } from './chaos_calls.ts';
import type { Records } from './chaos_load.ts';
import type { Server } from './citus_cluster.ts';

type Servers = (n: number) => Server;

/** Waits until each of these nodes has answered `more` calls. */
export async function answered(log: CallLog, owners: number[], more: number): Promise<void> {
  const count = (owner: number) => log.living.get(owner)?.answers ?? 0;
  const wanted = new Map(owners.map((owner) => [owner, count(owner) + more]));
  await waitUntil(`nodes ${owners} have answered`, async () =>
    [...wanted].every(([owner, least]) => count(owner) >= least),
  );
}

/** Does what pg_cron does on each node, and returns a function that stops it. */
export function keepTicking(server: Servers, nodes: number[], lives: Life[]) {
  let over = false;
  const tick = (node: number) =>
    withClient(server(node).url, (client) => client.query('select tock.tick()'));
  const ticking = nodes.map(async (node) => {
    while (!over) {
      if (lives[node]?.since) await tick(node).catch(() => {});
      await sleep(50);
    }
  });
  return async () => {
    over = true;
    await Promise.all(ticking);
  };
}

const onEach = <T extends object>(
  server: Servers,
  numbers: number[],
  sql: string,
): Promise<T[][]> =>
  Promise.all(numbers.map((n) => withClient(server(n).url, (client) => rows<T>(client, sql))));

/** Ends the transactions whose commit a crash has cut in two. Citus does this by itself after a while. */
export async function recoverPrepared(server: Servers, servers: number[]): Promise<void> {
  // Each server ends those that began there.
  await onEach(server, servers, 'select recover_prepared_transactions()');
  const left = await onEach(server, servers, 'select gid from pg_prepared_xacts');
  expect(left.flat()).toEqual([]);
}

const openTasks = `
  select q.name, s.ready, s.running, s.waiting
  from tock.queues q cross join lateral tock.queue_stats(q.name) s
  where q.name <> '*' and s.ready + s.running + s.waiting > 0`;

/** Waits until no node has a task that has not ended. */
export const untilDone = (server: Servers, nodes: number[]) =>
  expect
    .poll(() => onEach(server, nodes, openTasks), { interval: 500, timeout: 2 * conditionTimeout })
    .toEqual(nodes.map(() => []));

type Task = { id: string; queue: string; name: string };

const readTasks = `
  select (r.position << 20 | r.stream)::text as id, s.queue, r.payload #>> '{}' as name
  from tock.runs r join tock.streams s on s.number = r.stream where r.task_id is null`;

/** Compares what the clients know with what the nodes have. The range of each node is its number less one. */
export async function verify(server: Servers, nodes: number[], records: Records): Promise<void> {
  const { enqueued, orders, completions } = records;
  const found = await onEach<Task>(server, nodes, readTasks);
  const misplaced = found.flatMap((tasks, n) =>
    tasks.filter(({ id, queue }) => {
      const node = nodes[n] as number;
      return !queue.endsWith(`-${node}`) || BigInt(id) >> 53n !== BigInt(node - 1);
    }),
  );
  expect(misplaced).toEqual([]);

  const tasks = found.flat();
  const namesIn = (prefix: string) => tasks.filter(({ queue }) => queue.startsWith(prefix));
  const singles = namesIn('singles').map(({ name, id }) => [name, id] as const);
  expect(singles).toHaveLength(enqueued.size);
  expect(new Map(singles)).toEqual(enqueued);
  const last = new Map<string, bigint>();
  // In the order in which a client got its answers.
  for (const [name, id] of enqueued) {
    const client = name.slice(0, name.lastIndexOf('-'));
    expect(BigInt(id), name).toBeGreaterThan(last.get(client) ?? -1n);
    last.set(client, BigInt(id));
  }

  const stored = await withClient(server(0).url, (client) =>
    value<string[]>(client, 'select array(select name from public.orders)'),
  );
  const ordered = namesIn('orders').map(({ name }) => name);
  expect(ordered.toSorted()).toEqual([...stored, ...stored].toSorted());
  const present = new Set(stored);
  expect([...orders.committed].filter((name) => !present.has(name))).toEqual([]);
  expect([...orders.failed].filter((name) => present.has(name))).toEqual([]);

  expect([...completions].filter(([, count]) => count !== 1)).toEqual([]);
  expect([...completions.keys()].toSorted()).toEqual(tasks.map(({ id }) => id).toSorted());
  for (const node of nodes) expect(await withClient(server(node).url, brokenSentences)).toEqual({});
}

const ms = (number: number) => `${Math.round(number)} ms`;

const times = (list: number[]) =>
  `${list.length} calls, p50 ${ms(percentile(list, 0.5))}, p99 ${ms(percentile(list, 0.99))}, longest ${ms(percentile(list, 1))}`;

const tally = (counts: Map<string, number>) =>
  [...counts].toSorted(([, a], [, b]) => b - a).map(([text, count]) => `  ${count} x ${text}`);

/** Prints the figures of a run. */
export function report(what: string, log: CallLog, records: Records): void {
  const { committed, unknown, failed } = records.orders;
  const lines = [
    `${what}: ${records.enqueued.size} tasks enqueued by single calls; orders: ${committed.size} committed, ${failed.size} failed, ${unknown.size} unknown`,
    `${records.completions.size} tasks completed, ${records.late} completions too late`,
  ];
  for (const [node, { answers, allUp, othersDown, gap }] of log.living) {
    lines.push(`node ${node}: ${answers} answers, longest time without one ${ms(gap)}`);
    lines.push(`  all servers up: ${times(allUp)}`, `  another one down: ${times(othersDown)}`);
  }
  lines.push('failed calls to the living:', ...tally(log.failures.living));
  lines.push('other failed calls:', ...tally(log.failures.others));
  process.stdout.write(`${lines.join('\n')}\n`);
}
