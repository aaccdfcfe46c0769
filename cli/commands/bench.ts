import { randomBytes, randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { Failure } from '../../migrate/failure.ts';
import { type Api, withApi } from '../api.ts';
import { wholeNumber } from '../arguments.ts';
import { type Options, optionsOf, print } from '../output.ts';
import { type Bar, withBar } from '../progress.ts';
import { resolveTarget } from '../settings.ts';
import { table } from '../table.ts';
import { enqueued, taskFields } from './enqueue.ts';

type Flags = { tasks: number; connections: number; anywhere?: boolean };
type Measured = {
  what: string;
  batch: number;
  tasks_per_second: number;
  p50_ms: number;
  p95_ms: number;
};

const batches = [1, 100];
const local = /^(127\.|localhost$|\[?::1\]?$)/;

function refuseAfar(options: Options<Flags>): void {
  const { hostname } = new URL(resolveTarget(options).url);
  if (options.anywhere || local.test(hostname)) return;
  const next =
    'This command puts load on the server. Give --anywhere to run it there all the same.';
  throw new Failure(`${hostname} is not this machine.`, next, 2);
}

/** Calls `runOnce` `calls` times, shared among the connections. It throws if it finds no tasks. */
async function rounds(
  apis: Api[],
  calls: number,
  runOnce: (api: Api) => Promise<unknown>,
): Promise<{ seconds: number; times: number[] }> {
  const times: number[] = [];
  let remaining = calls;
  const started = performance.now();
  await Promise.all(
    apis.map(async (api) => {
      while (remaining-- > 0) {
        const startedAt = performance.now();
        await runOnce(api);
        times.push(performance.now() - startedAt);
      }
    }),
  );
  return { seconds: (performance.now() - started) / 1000, times: times.sort((a, b) => a - b) };
}

const percentile = (times: number[], share: number) =>
  Math.round((times[Math.floor((times.length - 1) * share)] ?? 0) * 100) / 100;

async function measure(
  apis: Api[],
  queue: string,
  tasks: number,
  progress: Bar,
): Promise<Measured[]> {
  const all: Measured[] = [];
  for (const batch of batches) {
    const calls = Math.ceil(tasks / batch);
    const toRow = (name: string, { seconds, times }: { seconds: number; times: number[] }) => ({
      what: name,
      batch,
      tasks_per_second: Math.round((calls * batch) / seconds),
      p50_ms: percentile(times, 0.5),
      p95_ms: percentile(times, 0.95),
    });
    const payloads = Array.from({ length: batch }, (_, n) => `{"n":${n}}`);
    const added = await rounds(apis, calls, async (api) => {
      await enqueued(api, queue, taskFields(payloads), randomUUID());
      progress.add(batch);
    });
    all.push(toRow('enqueue', added));
    const done = await rounds(apis, calls, async (api) => {
      const { lease } = await api.call('POST /v1/queues/{queue}/claim', {
        path: { queue },
        body: { worker: 'tock bench', limit: batch, request_id: randomUUID() },
      });
      if (lease) await api.call('POST /v1/leases/{lease}/complete', { path: { lease }, body: {} });
      progress.add(batch);
    });
    all.push(toRow('claim and complete', done));
  }
  return all;
}

/** Opens one api for each worker, because each SQL worker needs a connection of its own. */
function withApis<T>(options: Options<Flags>, count: number, work: (apis: Api[]) => Promise<T>) {
  const withMoreApis = (apis: Api[]): Promise<T> =>
    apis.length === count ? work(apis) : withApi(options, (api) => withMoreApis([...apis, api]));
  return withMoreApis([]);
}

async function bench(options: Options<Flags>) {
  refuseAfar(options);
  const { tasks, connections } = options;
  const queue = `tock-bench-${randomBytes(4).toString('hex')}`;
  const measured = await withApis(options, connections, async (apis) => {
    try {
      return await withBar(options, 'Bench', tasks * 2 * batches.length, (progress) =>
        measure(apis, queue, tasks, progress),
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
    .description(
      'run a short benchmark on its own queue, which is dropped afterwards: rates and latencies',
    )
    .option(
      '--tasks <count>',
      'number of single tasks, and of tasks in batches of 100',
      wholeNumber(100, 1_000_000),
      2000,
    )
    .option('--connections <count>', 'number of concurrent connections', wholeNumber(1, 100), 8)
    .option('--anywhere', 'allow a server on another machine')
    .action((_options, command: Command) => bench(optionsOf(command)));
}
