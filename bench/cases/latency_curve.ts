import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connection } from '../calls.ts';
import { type Arrivals, listener, openLoop } from '../open_loop.ts';
import { type Served, serve } from '../serve_worker.ts';
import type { Case, Group, Run, System } from '../types.ts';

const rates = [10, 100, 1000];
const SENDERS = 16;
const WORKERS = 8;
/** Tasks that a worker or a peer's runner takes at once. */
const BATCH = 10;

const at = (values: number[] | null, share: number) =>
  values?.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? null;

type Way = 'consumer' | 'waiting claim' | 'push';

/** Connections that take turns; each has one request at a time. */
function senders(served: Served) {
  const all = Array.from({ length: SENDERS }, () => connection(served));
  const last = all.map(() => Promise.resolve<unknown>(null));
  return {
    send(path: string, body: string, n: number) {
      const k = n % SENDERS;
      const answer = (last[k] as Promise<unknown>).then(() => all[k]?.call('POST', path, body));
      last[k] = answer;
      return answer;
    },
    close: () => {
      for (const { close } of all) close();
    },
  };
}

/** Workers that wait for tasks, and end those that they have with the next claim. */
function waitingWorkers(served: Served, queue: string, { started }: Arrivals) {
  let over = false;
  const work = async () => {
    const { call, close } = connection(served);
    let ends: { lease: string }[] = [];
    while (!over) {
      const body = JSON.stringify({
        limit: BATCH,
        wait_seconds: 2,
        ...(ends.length > 0 && { ends }),
      });
      const { lease, tasks } = JSON.parse(await call('POST', `/v1/queues/${queue}/claim`, body));
      for (const { payload } of tasks) started(payload);
      ends = lease ? [{ lease }] : [];
    }
    close();
  };
  const all = Promise.all(Array.from({ length: WORKERS }, work));
  all.catch(() => {});
  return async () => {
    over = true;
    await all;
  };
}

/** Latencies of a way and rate, over HTTP, in workerd with the Durable Object. What is late with one is not met by another. */
async function ofTock(run: Run, tock: System, way: Way, rate: number): Promise<number[] | null> {
  const queue = way === 'consumer' ? 'curve' : 'other';
  const database = await run.open(tock);
  const storage = mkdtempSync(join(tmpdir(), 'tock-bench-'));
  let hear: (n: number) => void = () => {};
  // A consumer names its task in the path, a push has it as its body.
  const server = await listener((path, body) => hear(Number(path.slice(1) || body)));
  const bindings = {
    LISTENER: server.url,
    TOCK_PUSH_SECRET: 'the-secret-of-the-benchmark-1234',
    TOCK_PUSH_PRIVATE: 'allow',
  };
  const served = await serve(run, database, 'bench/consumer_worker.ts', bindings, storage);
  try {
    return await openLoop(rate, run.quick ? 3 : 10, async (arrivals) => {
      if (way !== 'waiting claim') hear = arrivals.started;
      const { send, close } = senders(served);
      if (way === 'push') {
        const { call, close } = connection(served);
        await call('PUT', `/v1/queues/${queue}`, JSON.stringify({ push: { url: server.url } }));
        close();
      }
      const stopWorkers =
        way === 'waiting claim' ? waitingWorkers(served, queue, arrivals) : async () => {};
      return {
        send: (n) => send(`/v1/queues/${queue}/tasks`, `{"payload": ${n}}`, n),
        async stop() {
          await stopWorkers();
          close();
        },
      };
    });
  } finally {
    await served.stop();
    server.close();
    await run.close(database);
    rmSync(storage, { recursive: true, force: true });
  }
}

/** The same for a peer, in its own runner with NOTIFY: bench/peers/start_at_rate.ts sends the number of a started job. */
async function ofPeer(run: Run, peer: System, rate: number): Promise<number[] | null> {
  const database = await run.open(peer);
  try {
    return await openLoop(rate, run.quick ? 3 : 10, async ({ started }) => {
      const task = { url: database.url, name: peer.name, batch: BATCH };
      const env = { ...process.env, BENCH_WORK: JSON.stringify(task), NODE_ENV: 'production' };
      const module = fileURLToPath(new URL('../peers/start_at_rate.ts', import.meta.url));
      const child = spawn(process.execPath, [module], {
        env,
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      const ready = Promise.withResolvers<void>();
      const exited = new Promise<void>((resolve) => {
        child.once('exit', (code) => {
          ready.reject(new Error(`${peer.name} ended with ${code}.`));
          resolve();
        });
      });
      child.on('message', (message: 'ready' | number) => {
        if (message === 'ready') ready.resolve();
        else started(message);
      });
      await ready.promise;
      return {
        send: (n) =>
          new Promise((resolve, reject) => {
            child.send(n, (error) => (error ? reject(error) : resolve(null)));
          }),
        async stop() {
          if (child.connected) child.disconnect();
          await exited;
        },
      };
    });
  } finally {
    await run.close(database);
  }
}

async function measured(run: Run): Promise<Case[]> {
  const tock = run.systems.find(({ name }) => name === 'tock');
  if (!tock) return [];
  const peers = run.systems.filter(({ name }) => ['graphile-worker', 'pg-boss'].includes(name));
  const cases: Case[] = [];
  for (const rate of rates) {
    const times: Record<string, number[] | null> = {};
    for (const peer of peers) times[peer.name] = await ofPeer(run, peer, rate);
    for (const way of ['consumer', 'waiting claim', 'push'] as const) {
      const own = await ofTock(run, tock, way, rate);
      for (const share of [0.5, 0.99])
        cases.push({
          name: `${way} at ${rate}/s, p${share * 100}`,
          unit: 'ms',
          tock: at(own, share),
          floor: null,
          peers: Object.fromEntries(
            Object.entries(times).map(([name, all]) => [name, at(all, share)]),
          ),
          note: `from the moment at which a task was due to be sent until it started${own ? `, ${own.length} tasks` : ''}; Tock by HTTP, peers in SQL, told by NOTIFY; null: tasks had not started 10 s after the last was sent`,
          ...(own && { windows: { tock: own } }),
        });
    }
  }
  return cases;
}

export const groups: Group[] = [{ name: 'latency curve', slow: true, run: measured }];
