import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Connection, connection, cycle } from '../calls.ts';
import { type Served, serve } from '../serve_worker.ts';
import type { Case, Group, Run, System, TestDatabase } from '../types.ts';

const waiters = 4;
/** A consumer has waited up to this many seconds, evenly distributed, when a task comes. */
const longest = 2;
const asking = (run: Run) => (run.quick ? 4 : 10);
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const at = (values: number[], share: number) => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null;
};

/** Milliseconds from sending a task to the answer of its claim, with one waiter and one queue. */
async function latencies(served: Served, queue: string, seconds: number): Promise<number[]> {
  const consumer = connection(served);
  const producer = connection(served);
  const samples: number[] = [];
  const until = performance.now() + seconds * 1000;
  try {
    while (performance.now() < until) {
      let answered = 0;
      const waited = cycle(consumer.call, queue, 1, 30, () => {
        answered = performance.now();
      });
      waited.catch(() => {});
      await pause(Math.random() * longest);
      const sent = performance.now();
      await producer.call('POST', `/v1/queues/${queue}/tasks`, '{"payload": 1}');
      if ((await waited).tasks !== 1) throw new Error('A claim waited and found no task.');
      samples.push(answered - sent);
    }
  } finally {
    consumer.close();
    producer.close();
  }
  return samples;
}

/** The number of statements of a waiting consumer: the database's transactions with it minus those without it. */
async function statements(
  database: TestDatabase,
  served: Served,
  seconds: number,
): Promise<number> {
  const text = `select xact_commit + xact_rollback as count from pg_stat_database
    where datname = current_database()`;
  const during = async (work: () => Promise<unknown>) => {
    // The pause covers the second after which sessions report their transactions.
    await pause(1.5);
    const before = Number((await database.client.query(text)).rows[0].count);
    await work();
    await pause(1.5);
    return Number((await database.client.query(text)).rows[0].count) - before;
  };
  const all: Connection[] = Array.from({ length: waiters }, () => connection(served));
  const alone = await during(() => pause(seconds));
  const waiting = await during(() =>
    Promise.all(all.map(({ call }, n) => cycle(call, `idle${n}`, 1, seconds))),
  );
  for (const { close } of all) close();
  return (waiting - alone) / waiters / seconds;
}

/** Milliseconds from sending a peer's job to the start of its handler, in the peer's own runner with NOTIFY. */
async function ofPeer(run: Run, peer: System, seconds: number): Promise<number[] | null> {
  if (!['graphile-worker', 'pg-boss'].includes(peer.name)) return null;
  const database = await run.open(peer);
  try {
    const task = { url: database.url, name: peer.name, seconds, gap: longest / 5 };
    const env = { ...process.env, BENCH_WORK: JSON.stringify(task), NODE_ENV: 'production' };
    const module = fileURLToPath(new URL('../peers/start.ts', import.meta.url));
    const options = { env, timeout: (seconds + 60) * 1000 };
    const { stdout } = await promisify(execFile)(process.execPath, [module], options);
    return JSON.parse(stdout);
  } finally {
    await run.close(database);
  }
}

/** Milliseconds of a request that runs `select 1` through the same Worker. */
async function roundTrips(served: Served): Promise<number[]> {
  const { call, close } = connection(served);
  const samples: number[] = [];
  for (let n = -50; n < 200; n++) {
    const sent = performance.now();
    await call('GET', '/bench/select1');
    if (n >= 0) samples.push(performance.now() - sent);
  }
  close();
  return samples;
}

async function ofTock(run: Run, tock: System, seconds: number) {
  const database = await run.open(tock);
  const served = await serve(run, database);
  try {
    const least = await roundTrips(served);
    const statementCount = await statements(database, served, asking(run));
    const each = Array.from({ length: waiters }, (_, n) => latencies(served, `wait${n}`, seconds));
    return { statementCount, least, found: (await Promise.all(each)).flat() };
  } finally {
    await served.stop();
    await run.close(database);
  }
}

async function measured(run: Run): Promise<Case[]> {
  const tock = run.systems.find(({ name }) => name === 'tock');
  const seconds = run.quick ? 6 : 40;
  if (!tock) return [];
  const { statementCount, least, found: samples } = await ofTock(run, tock, seconds);
  const peers: Record<string, number[]> = {};
  for (const peer of run.systems) {
    const times = await ofPeer(run, peer, run.quick ? 3 : 10);
    if (times) peers[peer.name] = times;
  }
  const note = `Tock: both by HTTP, ${samples.length} tasks, each after up to ${longest} s of waiting; peers: in SQL, told by NOTIFY over a connection of their own; floor: a request for select 1`;
  const latency = (name: string, share: number): Case => ({
    name: `start latency, ${name}`,
    unit: 'ms',
    tock: at(samples, share),
    floor: at(least, share),
    peers: Object.fromEntries(Object.entries(peers).map(([peer, all]) => [peer, at(all, share)])),
    note,
    windows: { tock: samples, floor: least, ...peers },
  });
  return [
    latency('p50', 0.5),
    latency('p99', 0.99),
    {
      name: 'statements of a waiting second',
      unit: 'statements/s',
      tock: statementCount,
      floor: null,
      peers: {},
      note: `one consumer in a long poll of ${asking(run)} s on an empty queue, by the count of transactions`,
    },
  ];
}

export const groups: Group[] = [{ name: 'latency', slow: true, run: measured }];
