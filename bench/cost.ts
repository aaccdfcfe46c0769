import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDatabase } from '../scripts/stack/roles.ts';
import { softly } from '../scripts/stack/step_reporter.ts';
import { prepare, testCluster } from '../scripts/stack/test_cluster.ts';
import { connected, cpuSeconds } from './cluster.ts';
import { type Served, serve } from './serve_worker.ts';
import type { Run, TestDatabase } from './types.ts';

/**
 * Measures in workerd what a task takes that a platform bills, and multiplies it by prices. Usage: npm run measure:cost
 * [-- <seconds of each case>]. Takes about 70 seconds.
 */
const seconds = Number(process.argv[2] ?? 3);

// Prices in dollars, of the paid plans, as published when docs/operating/cost.md was written. It names the pages.
const prices = {
  workers: { plan: 5, requests: 0.3, cpu_ms: 0.02, object_requests: 0.15, rows: 1 },
  included: { requests: 10e6, cpu_ms: 30e6, object_requests: 1e6, rows: 50e6 },
  neon: { hour: 0.106, units: 0.25, idle_seconds: 300 },
};
const DAY = 86_400;
const MONTH = 30;
/** After this time the alarm of a batch has rung, also a second time, and the consumer has ended. */
const SETTLED_MS = 1800;
/** The pace of a million batches a day. */
const PACE_MS = (DAY * 1000) / 1_000_000;

type Figures = {
  requests: number;
  cpu_ms: number;
  statements: number;
  database_cpu_ms: number;
  object_requests: number;
  rows: number;
};
const names = Object.keys({
  requests: 0,
  cpu_ms: 0,
  statements: 0,
  database_cpu_ms: 0,
  object_requests: 0,
  rows: 0,
} satisfies Figures) as (keyof Figures)[];

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
let requests = 0;

async function call(served: Served, path: string, body: object) {
  requests++;
  const headers = { authorization: `Bearer ${served.key}`, 'content-type': 'application/json' };
  const answer = await fetch(`${served.url}${path}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json() as Promise<{ lease?: string; tasks?: unknown[] }>;
}

/** A batch of tasks from its enqueue to its end: by a consumer in the Worker, or by a worker over HTTP. */
async function batch(served: Served, way: string, size: number): Promise<void> {
  const tasks = Array.from({ length: size }, (_, n) => ({ payload: { n, text: 'x'.repeat(80) } }));
  await call(served, `/v1/queues/${way}/tasks`, { tasks });
  if (way === 'consumer') return;
  const { lease } = await call(served, `/v1/queues/${way}/claim`, { limit: size });
  await call(served, `/v1/leases/${lease}/complete`, {});
}

const cluster = await testCluster('cron', softly);
const storage = mkdtempSync(join(tmpdir(), 'tock-cost-'));
const owner = Object.assign(new URL(cluster.cluster.url('cost')), {
  username: 'tock',
  password: cluster.passwords.owner,
}).href;
try {
  // A database of its own without pg_cron, since its jobs would count too.
  await makeDatabase(cluster.cluster.url(), 'cost');
  await prepare(owner, cluster.passwords.edge);
  const client = await connected(owner);
  const served = await serve(
    { stack: cluster } as Run,
    { url: owner, client } as TestDatabase,
    'bench/cost_worker.ts',
    {},
    storage,
  );
  await client.end();

  async function figures(): Promise<Figures> {
    await pause(SETTLED_MS);
    const counts = await (await fetch(`${served.url}/counts`)).json();
    const database_cpu_ms = 1000 * (await cpuSeconds(cluster));
    const stat = readFileSync(`/proc/${served.pid}/stat`, 'utf8');
    const [user, system] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 13);
    const cpu_ms = (Number(user) + Number(system)) * 10;
    return { requests, cpu_ms, database_cpu_ms, ...counts };
  }

  for (const way of ['consumer', 'worker']) await batch(served, way, 100);
  let before = await figures();
  /** What each batch of a case took, once all its work is through. */
  async function took(name: string, work: () => Promise<number>) {
    const batches = await work();
    const after = await figures();
    const each = names.map((key) => [key, (after[key] - before[key]) / batches] as const);
    before = after;
    const result = { batches, ...(Object.fromEntries(each) as Figures) };
    row([name, batches, ...names.map((key) => result[key])]);
    return result;
  }
  const steady = (way: string) => async () => {
    let batches = 0;
    for (const end = performance.now() + seconds * 1000; performance.now() < end; batches++)
      await Promise.all([batch(served, way, 1), pause(PACE_MS)]);
    return batches;
  };
  const apart = (way: string, size: number) => async () => {
    for (let n = 0; n < 3; n++) {
      await batch(served, way, size);
      await pause(SETTLED_MS);
    }
    return 3;
  };
  const format = (value: number) => value.toLocaleString('en', { maximumSignificantDigits: 3 });
  const row = (cells: (string | number)[]) =>
    console.log(`| ${cells.map((c) => (typeof c === 'number' ? format(c) : c)).join(' | ')} |`);
  row(['case', 'batches', ...names]);
  const results: Record<string, Figures & { batches: number }> = {};
  for (const way of ['consumer', 'worker']) {
    for (const size of [1, 100])
      results[`${way}, ${size} a batch`] = await took(`${way}, ${size} a batch`, apart(way, size));
    const name = `${way}, 1 a batch, 12 a second`;
    results[name] = await took(name, steady(way));
  }
  await took('idle', () => pause(SETTLED_MS).then(() => 1));

  console.log('\nA day:');
  const title = ['tasks a day', 'batch', 'way', ...names, 'database busy', 'Workers a month'];
  row([...title, 'Neon that sleeps a month', 'Neon with pg_cron a month']);
  for (const tasks of [0, 10_000, 1_000_000]) {
    for (const size of tasks ? [1, 100] : [1]) {
      for (const way of tasks ? ['consumer', 'worker'] : ['none']) {
        const batches = tasks / size;
        const steady = results[`${way}, 1 a batch, 12 a second`];
        const each = batches === 1_000_000 ? steady : results[`${way}, ${size} a batch`];
        const day = Object.fromEntries(names.map((name) => [name, batches * (each?.[name] ?? 0)]));
        // However many batches come, the alarm is told of them twice a second, and rings once.
        if (each && each === steady)
          for (const name of ['object_requests', 'rows'] as const)
            day[name] = (DAY * each[name] * each.batches) / seconds;
        const over = (name: keyof typeof prices.included) =>
          (Math.max(0, (day[name] ?? 0) * MONTH - prices.included[name]) / 1e6) *
          prices.workers[name];
        const workers =
          prices.workers.plan +
          over('requests') +
          over('cpu_ms') +
          over('object_requests') +
          over('rows');
        const { hour, units, idle_seconds } = prices.neon;
        const awake = Math.min(DAY, batches * idle_seconds);
        const neon = (awake_seconds: number) => (awake_seconds / 3600) * MONTH * units * hour;
        const busy = `${format((day.database_cpu_ms ?? 0) / DAY / 10)} %`;
        const money = [workers, neon(awake), neon(DAY)].map((sum) => `$${sum.toFixed(2)}`);
        row([format(tasks), size, way, ...names.map((name) => day[name] ?? 0), busy, ...money]);
      }
    }
  }
  await served.stop();
} finally {
  await cluster.close();
  rmSync(storage, { recursive: true, force: true });
}
