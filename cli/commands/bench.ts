import { randomBytes, randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { whole } from '../given.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { way } from '../settings.ts';
import { table } from '../table.ts';
import { enqueued } from './enqueue.ts';

type Given = { tasks: number; connections: number; anywhere?: boolean };
type Measured = {
  what: string;
  batch: number;
  tasks_per_second: number;
  p50_ms: number;
  p95_ms: number;
};

const batches = [1, 100];
const local = /^(127\.|localhost$|\[?::1\]?$)/;

function refuseAfar(options: Options<Given>): void {
  const { hostname } = new URL(way(options).url);
  if (options.anywhere || local.test(hostname)) return;
  const next = 'It is a load: give --anywhere if that server is yours to put under one.';
  throw new Failure(`${hostname} is not this machine.`, next, 2);
}

/** Each connection works until all is done; `one` does so many tasks, or says that there are none. */
async function rounds(
  apis: Api[],
  calls: number,
  one: (api: Api) => Promise<unknown>,
): Promise<{ seconds: number; times: number[] }> {
  const times: number[] = [];
  let left = calls;
  const started = performance.now();
  await Promise.all(
    apis.map(async (api) => {
      while (left-- > 0) {
        const at = performance.now();
        await one(api);
        times.push(performance.now() - at);
      }
    }),
  );
  return { seconds: (performance.now() - started) / 1000, times: times.sort((a, b) => a - b) };
}

const at = (times: number[], share: number) =>
  Math.round((times[Math.floor((times.length - 1) * share)] ?? 0) * 100) / 100;

async function measure(apis: Api[], queue: string, tasks: number, shown: Bar): Promise<Measured[]> {
  const all: Measured[] = [];
  for (const batch of batches) {
    const calls = Math.ceil(tasks / batch);
    const line = (what: string, { seconds, times }: { seconds: number; times: number[] }) => ({
      what,
      batch,
      tasks_per_second: Math.round((calls * batch) / seconds),
      p50_ms: at(times, 0.5),
      p95_ms: at(times, 0.95),
    });
    const payloads = Array.from({ length: batch }, (_, n) => `{"payload":{"n":${n}}}`);
    const added = await rounds(apis, calls, async (api) => {
      await enqueued(api, queue, payloads, randomUUID());
      shown.add(batch);
    });
    all.push(line('enqueue', added));
    const done = await rounds(apis, calls, async (api) => {
      const { lease } = await api.call('POST /v1/queues/{queue}/claim', {
        path: { queue },
        body: { worker: 'tock bench', limit: batch, request_id: randomUUID() },
      });
      if (lease) await api.call('POST /v1/leases/{lease}/complete', { path: { lease }, body: {} });
      shown.add(batch);
    });
    all.push(line('claim and complete', done));
  }
  return all;
}

/** So many at once: a connection each in SQL. */
function withApis<T>(options: Options<Given>, count: number, work: (apis: Api[]) => Promise<T>) {
  const more = (apis: Api[]): Promise<T> =>
    apis.length === count ? work(apis) : withApi(options, (api) => more([...apis, api]));
  return more([]);
}

async function bench(options: Options<Given>) {
  refuseAfar(options);
  const { tasks, connections } = options;
  const queue = `tock-bench-${randomBytes(4).toString('hex')}`;
  const measured = await withApis(options, connections, async (apis) => {
    try {
      return await withBar(options, 'Bench', tasks * 2 * batches.length, (shown) =>
        measure(apis, queue, tasks, shown),
      );
    } finally {
      await apis[0]?.find('DELETE /v1/queues/{queue}', { path: { queue }, query: { force: true } });
    }
  });
  print(options, { tasks, connections, measured }, () =>
    table([
      ['', 'a call', 'tasks a second', 'p50 ms', 'p95 ms'],
      ...measured.map((m) => [m.what, m.batch, m.tasks_per_second, m.p50_ms, m.p95_ms]),
    ]),
  );
}

export function addBench(program: Command): void {
  program
    .command('bench')
    .description('a short load on a queue of its own, dropped afterwards: rates and latencies')
    .option(
      '--tasks <count>',
      'so many by ones, and as many by the hundred',
      whole(100, 1_000_000),
      2000,
    )
    .option('--connections <count>', 'that work at once', whole(1, 100), 8)
    .option('--anywhere', 'also on a server that is not this machine')
    .action((_given, command: Command) => bench(optionsOf(command)));
}
