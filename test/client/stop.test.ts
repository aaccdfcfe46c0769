import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock, type Tock, WorkerStopped } from '../../client/index.ts';
import {
  aborted,
  type ClientService,
  deferred,
  noTasksDone,
  outlastsLease,
  payloadTasks,
  startClientService,
} from './service.ts';

let there: ClientService;
let tock: Tock;
let count = 0;
const queue = () => `stop${++count}`;

beforeAll(async () => {
  there = await startClientService();
  tock = createTock(there.options);
});
afterAll(() => there.database.drop());

test('a stopping worker releases tasks that have not started, and finishes running ones', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(6));
  const stop = new AbortController();
  const [begun, end] = [deferred(), deferred()];
  const work = tock.work(
    q,
    async (_, { signal }) => {
      begun.open();
      await end.opened;
      expect(signal.aborted).toBe(false);
    },
    { signal: stop.signal, prefetch: { low: 2, high: 6 } },
  );
  await begun.opened;
  stop.abort();
  const others = new Set<string>();
  const take = async () => {
    for (const { id } of (await tock.claim(q, { limit: 10 }))?.tasks ?? []) others.add(id);
    return others.size;
  };
  await expect.poll(take).toBe(5);
  end.open();
  expect(await work).toEqual({ ...noTasksDone, done: 1, released: 5 });
});

test('a stopping worker extends the leases of running tasks', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  await tock.enqueue(q, 2);
  const stop = new AbortController();
  const worked = await tock.work(
    q,
    async () => {
      stop.abort();
      await expect.poll(() => outlastsLease(there, id)).toBe(true);
    },
    { signal: stop.signal, lease_seconds: 3, prefetch: { low: 0, high: 2 } },
  );
  expect(worked).toEqual({ ...noTasksDone, done: 1, released: 1 });
});

test('a handler that does not end in time gets an aborted signal, and its task is released', async () => {
  const q = queue();
  const [deaf, hearing] = (await tock.enqueueMany(q, payloadTasks(2))) as [string, string];
  const stop = new AbortController();
  const begun = deferred();
  const reasons: unknown[] = [];
  const never = deferred();
  const work = tock.work(
    q,
    async (task, { signal }) => {
      if (task.id === deaf) return never.opened;
      begun.open();
      reasons.push(await aborted(signal));
      throw new Error('stopped half way');
    },
    { signal: stop.signal, concurrency: 2, stop_seconds: 0 },
  );
  await begun.opened;
  stop.abort();
  expect(await work).toEqual({ ...noTasksDone, released: 2 });
  expect(reasons).toEqual([expect.any(WorkerStopped)]);
  for (const id of [deaf, hearing]) {
    expect(await tock.task(id)).toMatchObject({ state: 'ready', attempt: 1, lost: 0 });
  }
  never.open();
});

test('tasks of a claim that was sent before the stop are released', async () => {
  const q = queue();
  const stop = new AbortController();
  const waits = deferred();
  const options = {
    ...there.options,
    fetch: async (url: string, init: RequestInit) => {
      if (url.endsWith('/claim')) waits.open();
      return (there.options.fetch as typeof fetch)(url, init);
    },
  };
  const work = createTock(options).work(q, () => {}, { signal: stop.signal, wait_seconds: 10 });
  await waits.opened;
  stop.abort();
  const id = await tock.enqueue(q, 1);
  expect(await work).toEqual({ ...noTasksDone, released: 1 });
  expect(await tock.task(id)).toMatchObject({ state: 'ready', attempt: 1 });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'after a signal to stop %s ends the process',
  async (second) => {
    // test/mutants/run.ts sets this variable to a changed copy of client/.
    const { TOCK_CLIENT_DIRECTORY = fileURLToPath(new URL('../../client', import.meta.url)) } =
      process.env;
    const node = `${TOCK_CLIENT_DIRECTORY}/node.ts`;
    const script = `
    import { stopSignal } from '${node}';
    stopSignal().addEventListener('abort', () => console.log('stops'));
    setInterval(() => {}, 1000);
    console.log('begun');`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((end) => child.on('exit', (_, signal) => end(signal)));
    for await (const output of child.stdout.setEncoding('utf8')) {
      child.kill(output.includes('begun') ? 'SIGTERM' : second);
    }
    expect(await ended).toBe(second);
  },
);
