import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock, LeaseLost, TaskCancelled, type Tock } from '../../client/index.ts';
import { sleep } from '../sleep.ts';
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
const queue = () => `lease${++count}`;

beforeAll(async () => {
  there = await startClientService();
  tock = createTock(there.options);
});
afterAll(() => there.database.drop());

/** Lets the open leases expire and reaps them, so that another worker may have their tasks. */
async function takeBack(): Promise<void> {
  await there.owner.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where closed_at is null",
  );
  await there.owner.query('select tock.reap(p_sweep => true)');
}

test('heartbeats keep a lease open beyond its duration', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  const lasts = async () => void (await expect.poll(() => outlastsLease(there, id)).toBe(true));
  const worked = await tock.work(q, lasts, { until: 'empty', lease_seconds: 3 });
  expect(worked).toEqual({ ...noTasksDone, done: 1 });
  expect((await tock.task(id))?.runs).toHaveLength(1);
});

test("a handler's signal aborts when its lease is lost, and its result is not reported", async () => {
  const q = queue();
  const [running, waiting] = (await tock.enqueueMany(q, payloadTasks(2))) as [string, string];
  const begun: string[] = [];
  const reason = deferred<unknown>();
  const stop = new AbortController();
  const work = tock.work(
    q,
    async (task, { signal }) => {
      begun.push(task.id);
      await takeBack();
      reason.open(await aborted(signal));
      stop.abort();
      return 'stale';
    },
    { signal: stop.signal, lease_seconds: 3, prefetch: { low: 0, high: 2 } },
  );
  expect(await work).toEqual({ ...noTasksDone, lost: 2 });
  // A heartbeat reported this before the lease expired.
  expect(await reason.opened).toMatchObject({
    name: 'LeaseLost',
    status: 409,
    hint: expect.stringMatching(/^Discard/),
  });
  expect(begun).toEqual([running]);
  for (const id of [running, waiting]) {
    expect(await tock.task(id)).toMatchObject({ state: 'ready', lost: 1, result: null });
  }
});

test('a worker that cannot reach the server drops its tasks when their lease expires', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(2));
  const fetch = async (url: string, init: RequestInit) => {
    if (url.endsWith('/extend')) throw new TypeError('fetch failed');
    return (there.options.fetch as typeof globalThis.fetch)(url, init);
  };
  const reasons: unknown[] = [];
  const stop = new AbortController();
  const worked = await createTock({ ...there.options, fetch }).work(
    q,
    async (_, { signal }) => {
      reasons.push(await aborted(signal));
      stop.abort();
      throw new Error('no longer');
    },
    { signal: stop.signal, lease_seconds: 1, prefetch: { low: 0, high: 2 } },
  );
  expect(reasons).toMatchObject([{ message: 'This lease has expired.' }]);
  // The task that had started could still report its outcome, because its lease was not reaped yet.
  expect(worked).toEqual({ ...noTasksDone, failed: 1, lost: 1 });
});

test('an expired lease is not extended any more, so its dropped tasks become ready again', async () => {
  const q = queue();
  const [deaf, dropped = ''] = await tock.enqueueMany(q, payloadTasks(2));
  const stop = new AbortController();
  let away = true;
  const fetch = async (url: string, init: RequestInit) => {
    if (away && url.endsWith('/extend')) throw new TypeError('fetch failed');
    return (there.options.fetch as typeof globalThis.fetch)(url, init);
  };
  const again = async () => {
    await there.owner.query('select tock.reap(p_sweep => true)');
    return (await tock.task(dropped))?.state;
  };
  await createTock({ ...there.options, fetch }).work(
    q,
    async ({ id }, { signal }) => {
      expect(id).toBe(deaf);
      await aborted(signal);
      away = false;
      stop.abort();
      // The pause leaves time for a heartbeat that would wrongly extend the lease. A shorter one could miss that fault.
      await sleep(3000);
      await expect.poll(again).toBe('ready');
    },
    { signal: stop.signal, lease_seconds: 1, prefetch: { low: 0, high: 2 } },
  );
  expect(await again()).toBe('ready');
});

test('a cancel aborts the signal of a running handler, and a task that has not started never starts', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(2));
  const begun: string[] = [];
  const worked = await tock.work(
    q,
    async (task, { signal }) => {
      begun.push(task.id);
      await tock.cancel(ids);
      throw await aborted(signal);
    },
    { until: 'empty', lease_seconds: 3, prefetch: { low: 0, high: 2 } },
  );
  expect(worked).toEqual({ ...noTasksDone, cancelled: 2 });
  expect(begun).toEqual([ids[0]]);
  for (const id of ids) expect((await tock.task(id))?.state).toBe('cancelled');
  expect(new TaskCancelled()).toBeInstanceOf(Error);
});

test('progress is reported while the handler runs', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  const report = async () => {
    const { progress, note } = (await tock.task(id)) ?? {};
    return { progress, note };
  };
  await tock.work(
    q,
    async (_, { progress }) => {
      progress(40, 'half way');
      await expect.poll(report).toEqual({ progress: 40, note: 'half way' });
      progress(900, `${'x'.repeat(498)}\ud800\0 and more`);
      const note = `${'x'.repeat(498)}\ufffd\ufffd`;
      await expect.poll(report).toEqual({ progress: 100, note });
    },
    { until: 'empty' },
  );
});

test('invalid progress does not prevent a heartbeat', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  const heard: unknown[] = [];
  const worked = await tock.work(
    q,
    async (_, { progress, signal }) => {
      while (!(await outlastsLease(there, id))) {
        progress();
        await sleep(50);
      }
      expect(signal.aborted).toBe(false);
    },
    { until: 'empty', lease_seconds: 3, on_error: (error) => heard.push(error) },
  );
  expect(worked).toEqual({ ...noTasksDone, done: 1 });
  expect(heard).toEqual([]);
});

test('the methods of a claimed lease end it, and throw if it is lost', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(4));
  const lease = await tock.claim(q, { limit: 4, worker: 'me' });
  if (!lease) throw new Error('no lease');
  expect(lease.tasks).toMatchObject(ids.map((id, payload) => ({ id, payload, queue: q })));
  const [a, b, c, d] = ids as [string, string, string, string];
  expect(await lease.complete([{ id: a, result: 1 }])).toEqual({ completed: 1, refused: [] });
  expect(await lease.fail([{ id: b, error: 'e', fatal: true }])).toMatchObject({ dead: 1 });
  expect(await lease.release([c])).toEqual({ released: 1, refused: [] });
  expect(await lease.extend(100, [{ id: d, progress: 5 }])).toMatchObject({ cancel: [] });
  await takeBack();
  for (const end of [lease.complete, lease.fail, lease.extend]) {
    await expect(end()).rejects.toBeInstanceOf(LeaseLost);
  }
});

test('claimForWorker() returns the same task until its lease ends', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(2));
  const first = await tock.claimForWorker(q, 'me', 60);
  const again = await tock.claimForWorker(q, 'me', 60);
  expect(first?.tasks).toHaveLength(1);
  expect(again).toMatchObject({ lease: first?.lease, tasks: first?.tasks });
  expect(await tock.claim(queue())).toBeNull();
});
