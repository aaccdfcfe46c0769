import { expect, test } from 'vitest';
import { createTock, TaskCancelled } from '../../client/index.ts';
import { sleep } from '../sleep.ts';
import {
  aborted,
  deferred,
  expireLeases,
  noTasksDone,
  outlastsLease,
  payloadTasks,
  queue,
  there,
  tock,
  useClientService,
} from './service.ts';

useClientService();

const two = { prefetch: { low: 0, high: 2 } };

/** A client whose heartbeats do not arrive while `away` says so. */
const unheard = (away = () => true) =>
  createTock({
    ...there.options,
    fetch: async (url: string, init: RequestInit) => {
      if (away() && url.endsWith('/extend')) throw new TypeError('fetch failed');
      return (there.options.fetch as typeof globalThis.fetch)(url, init);
    },
  });

test('heartbeats keep a lease open beyond its duration', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  const lasts = async () => void (await expect.poll(() => outlastsLease(id)).toBe(true));
  const worked = await tock.work(q, lasts, { until: 'empty', lease_seconds: 3 });
  expect(worked).toEqual({ ...noTasksDone, done: 1 });
  expect((await tock.task(id))?.runs).toHaveLength(1);
});

test("a handler's signal aborts when its lease is lost, and its result is not reported", async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(2));
  const begun: string[] = [];
  const reason = deferred<unknown>();
  const stop = new AbortController();
  const work = tock.work(
    q,
    async (task, { signal }) => {
      begun.push(task.id);
      await expireLeases(there.owner);
      reason.open(await aborted(signal));
      stop.abort();
      return 'stale';
    },
    { signal: stop.signal, lease_seconds: 3, ...two },
  );
  expect(await work).toEqual({ ...noTasksDone, lost: 2 });
  // A heartbeat reported this before the lease expired.
  const hint = expect.stringMatching(/^Discard/);
  expect(await reason.opened).toMatchObject({ name: 'LeaseLost', status: 409, hint });
  expect(begun).toEqual(ids.slice(0, 1));
  for (const id of ids) {
    expect(await tock.task(id)).toMatchObject({ state: 'ready', lost: 1, result: null });
  }
});

test('a worker that cannot reach the server drops its tasks when their lease expires', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(2));
  const reasons: unknown[] = [];
  const stop = new AbortController();
  const worked = await unheard().work(
    q,
    async (_, { signal }) => {
      reasons.push(await aborted(signal));
      stop.abort();
      throw new Error('no longer');
    },
    { signal: stop.signal, lease_seconds: 1, ...two },
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
  const again = async () => {
    await there.owner.query('select tock.reap(p_sweep => true)');
    return (await tock.task(dropped))?.state;
  };
  await unheard(() => away).work(
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
    { signal: stop.signal, lease_seconds: 1, ...two },
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
    { until: 'empty', lease_seconds: 3, ...two },
  );
  expect(worked).toEqual({ ...noTasksDone, cancelled: 2 });
  expect(begun).toEqual(ids.slice(0, 1));
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
      while (!(await outlastsLease(id))) {
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
