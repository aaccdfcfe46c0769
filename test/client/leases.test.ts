import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createTock,
  LeaseLost,
  TaskCancelled,
  type Tock,
  WorkerStopped,
} from '../../client/index.ts';
import { type Way, way } from './service.ts';

let there: Way;
let tock: Tock;
let count = 0;
const queue = () => `lease${++count}`;
const payloads = (n: number) => Array.from({ length: n }, (_, payload) => ({ payload }));
const nothing = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0 };

beforeAll(async () => {
  there = await way();
  tock = createTock(there.options);
});
afterAll(() => there.database.drop());

/** A promise and what resolves it. */
function gate<T = void>() {
  let open: (value: T) => void = () => {};
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const aborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason));
  });

/** The lease ran out and somebody else may have its tasks. */
async function takeBack(): Promise<void> {
  await there.owner.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where closed_at is null",
  );
  await there.owner.query('select tock.reap(p_sweep => true)');
}

/** Whether a task's run has gone on for longer than a lease of a second; takes back what it can. */
async function pastItsLease(id: string): Promise<boolean> {
  await there.owner.query('select tock.reap(p_sweep => true)');
  const started = (await tock.task(id))?.runs[0]?.started_at;
  const past = "select now() > $1::timestamptz + interval '1500 ms' as past";
  return (await there.owner.query(past, [started])).rows[0].past;
}

test('a heartbeat keeps a lease past its length', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  const lasts = async () =>
    void (await expect.poll(() => pastItsLease(id), { timeout: 10_000 }).toBe(true));
  const worked = await tock.work(q, lasts, { until: 'empty', lease_seconds: 1 });
  expect(worked).toEqual({ ...nothing, done: 1 });
  expect((await tock.task(id))?.runs).toHaveLength(1);
});

test('a handler whose lease is lost hears of it, and what it returns is not told', async () => {
  const q = queue();
  const [running, waiting] = (await tock.enqueueMany(q, payloads(2))) as [string, string];
  const begun: string[] = [];
  const reason = gate<unknown>();
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
  expect(await work).toEqual({ ...nothing, lost: 2 });
  // As it was told by a heartbeat, before the lease's time was over.
  expect(await reason.opened).toMatchObject({
    name: 'LeaseLost',
    status: 409,
    hint: expect.stringMatching(/^Drop/),
  });
  expect(begun).toEqual([running]);
  for (const id of [running, waiting]) {
    expect(await tock.task(id)).toMatchObject({ state: 'ready', lost: 1, result: null });
  }
});

test('a worker that reaches nobody drops its tasks when their lease is over', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloads(2));
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
  expect(reasons).toMatchObject([{ message: 'The time of this lease is over.' }]);
  // What had begun could still say how it ended: nobody has taken it back yet.
  expect(worked).toEqual({ ...nothing, failed: 1, lost: 1 });
});

test('a handler whose task is to be cancelled hears of it; the one that has not begun never does', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloads(2));
  const begun: string[] = [];
  const worked = await tock.work(
    q,
    async (task, { signal }) => {
      begun.push(task.id);
      await tock.cancel(ids);
      throw await aborted(signal);
    },
    { until: 'empty', lease_seconds: 1, prefetch: { low: 0, high: 2 } },
  );
  expect(worked).toEqual({ ...nothing, cancelled: 2 });
  expect(begun).toEqual([ids[0]]);
  for (const id of ids) expect((await tock.task(id))?.state).toBe('cancelled');
  expect(new TaskCancelled()).toBeInstanceOf(Error);
});

test('progress is told while the handler runs', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  const told = async () => {
    const { progress, note } = (await tock.task(id)) ?? {};
    return { progress, note };
  };
  await tock.work(
    q,
    async (_, { progress }) => {
      progress(40, 'half way');
      await expect.poll(told, { timeout: 5000 }).toEqual({ progress: 40, note: 'half way' });
      progress(900, `${'x'.repeat(498)}\ud800\0 and more`);
      const note = `${'x'.repeat(498)}\ufffd\ufffd`;
      await expect.poll(told, { timeout: 5000 }).toEqual({ progress: 100, note });
    },
    { until: 'empty' },
  );
});

test('a worker that is told to stop gives back at once what has not begun, and ends what has', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloads(6));
  const stop = new AbortController();
  const [begun, end] = [gate(), gate()];
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
  expect(await work).toEqual({ ...nothing, done: 1, released: 5 });
});

test('a worker that is told to stop keeps alive what runs', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  await tock.enqueue(q, 2);
  const stop = new AbortController();
  const worked = await tock.work(
    q,
    async () => {
      stop.abort();
      await expect.poll(() => pastItsLease(id), { timeout: 10_000 }).toBe(true);
    },
    { signal: stop.signal, lease_seconds: 1, prefetch: { low: 0, high: 2 } },
  );
  expect(worked).toEqual({ ...nothing, done: 1, released: 1 });
});

test('a handler that does not end in time hears that its worker stops, and its task goes to another', async () => {
  const q = queue();
  const [deaf, hearing] = (await tock.enqueueMany(q, payloads(2))) as [string, string];
  const stop = new AbortController();
  const begun = gate();
  const reasons: unknown[] = [];
  const never = gate();
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
  expect(await work).toEqual({ ...nothing, released: 2 });
  expect(reasons).toEqual([expect.any(WorkerStopped)]);
  for (const id of [deaf, hearing]) {
    expect(await tock.task(id)).toMatchObject({ state: 'ready', attempt: 1, lost: 0 });
  }
  never.open();
});

test('what a claim brings that was under way when the worker was to stop is given back', async () => {
  const q = queue();
  const stop = new AbortController();
  const waits = gate();
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
  expect(await work).toEqual({ ...nothing, released: 1 });
  expect(await tock.task(id)).toMatchObject({ state: 'ready', attempt: 1 });
});

test('a lease in hand is ended by its own methods, and says when it is lost', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloads(4));
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

test('a worker has one task of its own, the same until its lease is over', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloads(2));
  const first = await tock.claimOwn(q, 'me', 60);
  const again = await tock.claimOwn(q, 'me', 60);
  expect(first?.tasks).toHaveLength(1);
  expect(again).toMatchObject({ lease: first?.lease, tasks: first?.tasks });
  expect(await tock.claim(queue())).toBeNull();
});
