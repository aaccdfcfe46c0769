import type pg from 'pg';
import { type Connection, connection, cycle } from '../calls.ts';
import { connected } from '../cluster.ts';
import { median } from '../interleave.ts';
import { memoryOf, postmaster, resident, touchBuffers } from '../memory_usage.ts';
import { type Served, serve } from '../serve_worker.ts';
import type { Case, Group, Run, TestDatabase } from '../types.ts';

type Sample = { database: number; processes: number; worker: number };

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Starts mixed work: single tasks over HTTP, and hundreds of tasks in SQL. It repeats until it is stopped. */
async function mixed(database: TestDatabase, served: Served) {
  let going = true;
  const over = (work: () => Promise<unknown>) =>
    (async () => {
      while (going) await work();
    })();
  const http = Array.from({ length: 4 }, () => connection(served));
  const sql = await Promise.all(Array.from({ length: 3 }, () => connected(database.url)));
  const [adds, takes, ticks] = sql as [pg.Client, pg.Client, pg.Client];
  const hundred = JSON.stringify(Array.from({ length: 100 }, (_, n) => ({ payload: { n } })));
  const single = JSON.stringify({ payload: { user: 12345, action: 'welcome' }, tenant: 't' });
  let done = 0;
  const byHttp = ({ call }: Connection, n: number) =>
    n % 2
      ? () => call('POST', '/v1/queues/http/tasks', single)
      : async () => {
          const { tasks } = await cycle(call, 'http', 5, 1);
          done += tasks;
        };
  const work = [
    ...http.map((each, n) => over(byHttp(each, n))),
    over(async () => {
      await adds.query("select tock.enqueue('sql', $1)", [hundred]);
      await pause(20);
    }),
    over(async () => {
      const { rows } = await takes.query("select lease, payload from tock.claim('sql', null, 200)");
      if (rows[0]) await takes.query('select * from tock.complete($1)', [rows[0].lease]);
      done += rows.length;
      await pause(20);
    }),
    // Ticks once a second, as pg_cron does.
    over(async () => {
      await ticks.query('select tock.tick()');
      await pause(1000);
    }),
  ];
  for (const promise of work) promise.catch(() => {});
  return async () => {
    going = false;
    await Promise.allSettled(work);
    for (const { close } of http) close();
    for (const client of sql) await client.end();
    await Promise.all(work);
    return done;
  };
}

function described(name: string, samples: Sample[], of: keyof Sample, note: string): Case {
  const third = Math.floor(samples.length / 3);
  const first = median(samples.slice(0, third).map((sample) => sample[of])) ?? 0;
  const last = median(samples.slice(-third).map((sample) => sample[of])) ?? 0;
  const most = Math.max(...samples.map((sample) => sample[of]));
  return {
    name,
    unit: 'last third / first third',
    tock: last / first,
    floor: null,
    peers: {},
    note: `${first.toFixed(1)} MB, then ${last.toFixed(1)} MB, at most ${most.toFixed(1)} MB; ${note}`,
    windows: { tock: samples.map((sample) => sample[of]) },
  };
}

async function measured(run: Run): Promise<Case[]> {
  const tock = run.systems.find(({ name }) => name === 'tock');
  if (!tock) return [];
  const seconds = run.quick ? 20 : 600;
  const back = await run.configure({ autovacuum: 'on' });
  const database = await run.open(tock);
  const served = await serve(run, database);
  try {
    const server = await postmaster(database);
    await touchBuffers(database);
    const stop = await mixed(database, served);
    const samples: Sample[] = [];
    // After this pause all processes have loaded what they need.
    await pause(run.quick ? 5000 : 30_000);
    const started = performance.now();
    for (let at = 0; at < seconds; at = (performance.now() - started) / 1000) {
      const { all, shared } = memoryOf(server);
      samples.push({ database: all, processes: all - shared, worker: resident(served.pid) });
      await pause(run.quick ? 500 : 5000);
    }
    const done = await stop();
    const note = `${seconds} s, ${done} tasks done by HTTP and SQL`;
    return [
      described('memory of the database', samples, 'database', `PSS of all processes; ${note}`),
      described(
        'memory of the database beside what its processes share',
        samples,
        'processes',
        note,
      ),
      described('memory of the Worker', samples, 'worker', `RSS of workerd; ${note}`),
    ];
  } finally {
    await served.stop();
    await run.close(database);
    await back();
  }
}

/** The memory use during ten minutes of mixed work, with autovacuum on. */
export const groups: Group[] = [{ name: 'memory', slow: true, run: measured }];
