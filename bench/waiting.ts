import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDatabase } from '../scripts/stack/roles.ts';
import { softly } from '../scripts/stack/step_reporter.ts';
import { prepare, testCluster } from '../scripts/stack/test_cluster.ts';
import { connected } from './cluster.ts';
import { type Served, serve } from './serve_worker.ts';
import type { Run, TestDatabase } from './types.ts';

/**
 * Measures waiting claims in workerd, with the Durable Object and without it: the statements of 100 waiting workers on
 * an idle system, and the time from an enqueue to the answer of a claim. Usage: npm run measure:waiting [-- <seconds
 * of each count>]. Takes about six times as long as a count.
 */
const seconds = Number(process.argv[2] ?? 60);
const WORKERS = 100;
const SAMPLES = 200;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function call(served: Served, path: string, body: object, signal?: AbortSignal) {
  // A claim has a request id that is new, as one of the client has.
  const headers = {
    authorization: `Bearer ${served.key}`,
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
    'tock-first-try': 'true',
  };
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal: signal ?? null };
  const answer = await fetch(`${served.url}${path}`, init);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json() as Promise<{ tasks?: unknown[] }>;
}

const cluster = await testCluster('cron', softly);
const owner = (name: string) =>
  Object.assign(new URL(cluster.cluster.url(name)), {
    username: 'tock',
    password: cluster.passwords.owner,
  }).href;

/** Waits until sessions have reported their transactions, and counts those of the database. */
async function transactions({ client }: TestDatabase): Promise<number> {
  await pause(1500);
  const { rows } = await client.query(
    'select xact_commit + xact_rollback as count from pg_stat_database where datname = current_database()',
  );
  return Number(rows[0].count);
}

/** Statements a minute of workers that wait for a task, claim after claim. */
async function statements(served: Served, database: TestDatabase, name: string) {
  const stop = new AbortController();
  const workers = Array.from({ length: WORKERS }, async () => {
    while (!stop.signal.aborted)
      await call(served, '/v1/queues/idle/claim', { wait_seconds: 30 }, stop.signal).catch(
        () => {},
      );
  });
  for (const minute of ['first', 'second']) {
    const before = await transactions(database);
    await pause(seconds * 1000);
    const count = (await transactions(database)) - before;
    console.log(
      `| ${name} | ${WORKERS} waiting workers, ${minute} count | ${Math.round((count * 60) / (seconds + 1.5))} statements a minute |`,
    );
  }
  stop.abort();
  await Promise.all(workers);
}

/** Milliseconds from the start of an enqueue to the answer of a claim that has waited for a while. */
async function latencies(served: Served, name: string) {
  const samples: number[] = [];
  for (let n = 0; n < SAMPLES; n++) {
    const waiting = call(served, '/v1/queues/busy/claim', { wait_seconds: 30 });
    await pause(50 + Math.random() * 300);
    const from = performance.now();
    await call(served, '/v1/queues/busy/tasks', { payload: 1 });
    const { tasks } = await waiting;
    if (tasks?.length !== 1) throw new Error('A claim waited and found no task.');
    samples.push(performance.now() - from);
  }
  samples.sort((a, b) => a - b);
  const at = (share: number) => (samples[Math.floor(samples.length * share)] ?? 0).toFixed(1);
  console.log(`| ${name} | enqueue to claimed | p50 ${at(0.5)} ms, p99 ${at(0.99)} ms |`);
}

const storage = mkdtempSync(join(tmpdir(), 'tock-waiting-'));
try {
  for (const [name, folder] of [
    ['polling', undefined],
    ['with the object', storage],
  ] as const) {
    // A database without pg_cron, since its jobs would count too.
    const databaseName = `waiting_${folder ? 'object' : 'poll'}`;
    await makeDatabase(cluster.cluster.url(), databaseName);
    await prepare(owner(databaseName), cluster.passwords.edge);
    const client = await connected(owner(databaseName));
    const database = { url: owner(databaseName), client } as TestDatabase;
    const run = { stack: cluster } as Run;
    const served = await serve(run, database, 'functions/index.ts', {}, folder);
    await latencies(served, name);
    await statements(served, database, name);
    await served.stop();
    await client.end();
  }
} finally {
  await cluster.close();
  rmSync(storage, { recursive: true, force: true });
}
