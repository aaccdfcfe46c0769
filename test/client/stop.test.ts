import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { createTock, WorkerStopped } from '../../client/index.ts';
import {
  aborted,
  deferred,
  noTasksDone,
  outlastsLease,
  payloadTasks,
  queue,
  there,
  tock,
  useClientService,
} from './service.ts';

useClientService();

test('a stopping worker releases tasks that have not started, and finishes running ones', async () => {
  const q = queue();
  const [id = ''] = await tock.enqueueMany(q, payloadTasks(6));
  const stop = new AbortController();
  const [begun, end] = [deferred(), deferred()];
  const work = tock.work(
    q,
    async (_, { signal }) => {
      begun.open();
      await end.opened;
      expect(signal.aborted).toBe(false);
    },
    { signal: stop.signal, lease_seconds: 3, prefetch: { low: 2, high: 6 } },
  );
  await begun.opened;
  stop.abort();
  const others = new Set<string>();
  const take = async () => {
    for (const task of (await tock.claim(q, { limit: 10 }))?.tasks ?? []) others.add(task.id);
    return others.size;
  };
  await expect.poll(take).toBe(5);
  // Heartbeats still extend the lease of the running task.
  await expect.poll(() => outlastsLease(id)).toBe(true);
  end.open();
  expect(await work).toEqual({ ...noTasksDone, done: 1, released: 5 });
});

test('a handler that does not end in time gets an aborted signal, and its task is released', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(2));
  const stop = new AbortController();
  const [begun, never] = [deferred(), deferred()];
  const reasons: unknown[] = [];
  const work = tock.work(
    q,
    async (task, { signal }) => {
      if (task.id === ids[0]) return never.opened;
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
  for (const id of ids) {
    expect(await tock.task(id)).toMatchObject({ state: 'ready', attempt: 1, lost: 0 });
  }
  never.open();
});

test('tasks of a claim that was sent before the stop are released', async () => {
  const q = queue();
  const stop = new AbortController();
  const waits = deferred();
  const fetch: typeof there.options.fetch = async (url, init) => {
    if (url.endsWith('/claim')) waits.open();
    return (there.options.fetch as typeof globalThis.fetch)(url, init);
  };
  const waiting = createTock({ ...there.options, fetch });
  const work = waiting.work(q, () => {}, { signal: stop.signal, wait_seconds: 10 });
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
    const script = `
    import { stopSignal } from '${TOCK_CLIENT_DIRECTORY}/node.ts';
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
