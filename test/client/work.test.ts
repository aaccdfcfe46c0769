import { expect, test, vi } from 'vitest';
import { createTock, Fatal, RetryIn } from '../../client/index.ts';
import {
  deferred,
  expireLeases,
  noTasksDone,
  payloadTasks,
  queue,
  there,
  tock,
  useClientService,
} from './service.ts';

useClientService();

const toTheEnd = { until: 'empty' } as const;

test('a worker runs all tasks, reports their results, and ends when the queue is empty', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(3));
  const twice = ({ payload }: { payload: unknown }) => ({ twice: Number(payload) * 2 });
  const worked = await tock.work(q, twice, { ...toTheEnd, worker: 'w' });
  expect(worked).toEqual({ ...noTasksDone, done: 3 });
  const last = { state: 'done', result: { twice: 4 }, runs: [{ worker: 'w' }] };
  expect(await tock.task(ids[2] as string)).toMatchObject(last);
});

test('a thrown error fails the task: it is retried, retried after a delay, or dead', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(3));
  const heard: unknown[] = [];
  const errors = [new TypeError('plain \ud800\0'), new RetryIn(3000, 'later'), new Fatal('never')];
  const fails = ({ payload }: { payload: unknown }) => {
    throw errors[Number(payload)];
  };
  const on_error = (error: unknown, task?: { id: string }) => void heard.push([error, task?.id]);
  const worked = await tock.work(q, fails, { ...toTheEnd, on_error });
  expect(worked).toEqual({ ...noTasksDone, failed: 3 });
  expect(heard).toEqual(ids.map((id, n) => [errors[n], id]));
  const [plain, later, never] = await Promise.all(ids.map((id) => tock.task(id)));
  const stack = expect.stringMatching(/plain/);
  const error = { name: 'TypeError', message: 'plain \ufffd\ufffd', stack };
  expect(plain).toMatchObject({ state: 'waiting', runs: [{ error }] });
  expect(never).toMatchObject({ state: 'dead', error: { name: 'Fatal' } });
  const wait = Date.parse(later?.run_at ?? '') - Date.parse(plain?.run_at ?? '');
  expect(wait).toBeGreaterThan(2_000_000);
});

test('several queues have a handler each, and tasks that a handler adds are run too', async () => {
  type Shop = { orders: { sku: string }; mails: { to: string } };
  const shop = createTock<Shop>(there.options);
  await shop.enqueue('orders', { sku: 'a' });
  const sent: string[] = [];
  const worked = await shop.work(
    {
      orders: (task, { spawn }) =>
        spawn({ queue: 'mails', tasks: [{ payload: { to: task.payload.sku } }] }),
      mails: (task) => void sent.push(task.payload.to),
    },
    { ...toTheEnd, weights: { orders: 2, mails: 1 } },
  );
  expect(worked).toEqual({ ...noTasksDone, done: 2 });
  expect(sent).toEqual(['a']);
});

test('a handler chooses the next stage of a pipeline', async () => {
  const [first, second, third] = [queue(), queue(), queue()] as const;
  const id = await tock.enqueue(first, 1, { pipeline: [first, second, third] });
  const worked = await tock.work(
    { [first]: (_, { stage }) => stage(third), [second]: () => 'never', [third]: () => 'end' },
    toTheEnd,
  );
  expect(worked).toEqual({ ...noTasksDone, done: 2 });
  expect(await tock.task(id)).toMatchObject({ state: 'done', result: 'end' });
});

test('a worker never holds more than `high` tasks, claims at `low`, and runs `concurrency` handlers', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(12));
  there.seen.length = 0;
  const { open, opened } = deferred();
  let [now, most] = [0, 0];
  const handler = async (task: { payload: unknown }) => {
    most = Math.max(most, ++now);
    if (Number(task.payload) >= 4) await opened;
    now--;
  };
  const prefetch = { low: 3, high: 7 };
  const work = tock.work(q, handler, { ...toTheEnd, concurrency: 3, prefetch });
  const limits = () =>
    there.seen.filter(({ route }) => route.endsWith('/claim')).map(({ body }) => body.limit);
  await expect.poll(limits).toEqual([7, 4]);
  const running = async () =>
    (await there.owner.query('select running from tock.queue_stats($1)', [q])).rows[0].running;
  await expect.poll(async () => Number(await running())).toBe(7);
  await expect.poll(() => now).toBe(3);
  open();
  expect(await work).toEqual({ ...noTasksDone, done: 12 });
  expect(most).toBe(3);
});

test('a waiting worker gets a new task, and runs until it is stopped', async () => {
  const q = queue();
  const stop = new AbortController();
  const done: unknown[] = [];
  const handler = (task: { payload: unknown }) => void done.push(task.payload);
  const work = tock.work(q, handler, { signal: stop.signal, wait_seconds: 1 });
  for (const payload of ['a', 'b']) {
    await tock.enqueue(q, payload);
    await expect.poll(() => done).toContain(payload);
  }
  stop.abort();
  expect(await work).toEqual({ ...noTasksDone, done: 2 });
});

test('a worker stops when its time is up, and does nothing if its signal has already aborted', async () => {
  const q = queue();
  expect(await tock.work(q, () => {}, { for_seconds: 0.3 })).toEqual(noTasksDone);
  await tock.enqueue(q, 1);
  for (const options of [{ until: new Date(0) }, { signal: AbortSignal.abort() }]) {
    expect(await tock.work(q, () => {}, options)).toEqual(noTasksDone);
  }
});

test('a worker continues after a failed call, and ends if its key is refused', async () => {
  const q = queue();
  await tock.enqueue(q, 1);
  const heard: unknown[] = [];
  const on_error = (error: unknown) => void heard.push(error);
  const stop = new AbortController();
  there.fate('unsent');
  const once = createTock({ ...there.options, retries: 0 });
  const worked = await once.work(q, () => stop.abort(), { signal: stop.signal, on_error });
  expect(worked).toEqual({ ...noTasksDone, done: 1 });
  expect(heard).toMatchObject([{ name: 'TockError', status: 0 }]);
  const stranger = createTock({ ...there.options, key: 'tock_nobody' });
  await expect(stranger.work(q, () => {})).rejects.toMatchObject({ status: 401 });
});

const bodies = (verb: string) =>
  there.seen.filter(({ route }) => route.endsWith(`/${verb}`)).map(({ body }) => body);

test('the next claim completes a lease whose tasks are all done without results', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(50));
  there.seen.length = 0;
  const worked = await tock.work(q, () => {}, { ...toTheEnd, prefetch: { low: 0, high: 100 } });
  expect(worked).toEqual({ ...noTasksDone, done: 50 });
  const ends = bodies('claim').map((body) => body.ends);
  expect(ends).toEqual([undefined, [{ lease: expect.any(String) }], undefined]);
  expect(bodies('complete')).toEqual([]);
});

test('a worker that goes from task to task needs one request for each', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(20));
  there.seen.length = 0;
  const handler = ({ payload }: { payload: unknown }) => {
    if (payload === 7) throw new Fatal('seven');
    return payload;
  };
  const worked = await tock.work(q, handler, toTheEnd);
  expect(worked).toEqual({ ...noTasksDone, done: 19, failed: 1 });
  // the last two claims find nothing
  expect(there.seen).toHaveLength(22);
});

test('tasks that end during a claim are reported by the next claim', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(4));
  const { opened, open } = deferred();
  // The second claim finds nothing, and all handlers end before its answer arrives.
  const slow = createTock({
    ...there.options,
    async fetch(url: string, init: RequestInit) {
      const answer = (await there.options.fetch?.(url, init)) as Response;
      if (url.endsWith('/claim') && bodies('claim').length === 2) open();
      await new Promise((resolve) => setImmediate(resolve));
      return answer;
    },
  });
  there.seen.length = 0;
  const options = { ...toTheEnd, concurrency: 4, prefetch: { low: 4, high: 5 } };
  expect(await slow.work(q, () => opened, options)).toEqual({ ...noTasksDone, done: 4 });
  const ends = bodies('claim').map((body) => body.ends);
  expect(ends).toEqual([undefined, undefined, [{ lease: expect.any(String) }], undefined]);
  expect(bodies('complete')).toEqual([]);
});

test('a worker claims again within milliseconds after a claim that found its streams locked', async () => {
  const states = ['busy', 'busy', 'busy', 'empty', 'empty'];
  const locked = createTock({
    ...there.options,
    fetch: async () =>
      Response.json({ lease: null, tasks: [], state: states.shift(), retry_after_seconds: 1 }),
  });
  vi.useFakeTimers();
  try {
    const worked = locked.work(queue(), () => {}, toTheEnd);
    await vi.advanceTimersByTimeAsync(200);
    expect(await worked).toEqual(noTasksDone);
  } finally {
    vi.useRealTimers();
  }
  expect(states).toEqual(['empty']);
});

test('a server that refuses claims gets the outcomes by calls of their own', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(3));
  let refused = 0;
  const busy = createTock({
    ...there.options,
    async fetch(url: string, init: RequestInit) {
      if (String(init.body).includes('"ends"')) {
        refused++;
        return new Response('{}', { status: 503, headers: { 'Retry-After': '5' } });
      }
      return (await there.options.fetch?.(url, init)) as Response;
    },
  });
  there.seen.length = 0;
  expect(await busy.work(q, () => {}, toTheEnd)).toEqual({ ...noTasksDone, done: 3 });
  // one attempt for each outcome at most
  expect([1, 2, 3]).toContain(refused);
  expect(bodies('complete')).toEqual([{}, {}, {}]);
});

test('a task whose lease was lost counts as lost, and the worker goes on', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(2));
  let taken = 0;
  const handler = async () => {
    if (taken++ === 0) await expireLeases(there.owner);
  };
  expect(await tock.work(q, handler, toTheEnd)).toEqual({ ...noTasksDone, done: 2, lost: 1 });
});

test('a refused result fails its own task, and the other outcomes are reported', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(5));
  const results = ['a', 1e100, 'c', 1n, 'x'.repeat(300_000)];
  const handler = ({ payload }: { payload: unknown }) => results[Number(payload)];
  const worked = await tock.work(q, handler, { ...toTheEnd, prefetch: { low: 0, high: 5 } });
  expect(worked).toEqual({ ...noTasksDone, done: 2, failed: 3 });
  const errors = await Promise.all(ids.map(async (id) => (await tock.task(id))?.runs[0]?.error));
  const names = errors.map((error) => (error as { name: string } | null)?.name);
  expect(names).toEqual([undefined, 'TockError', undefined, 'TypeError', 'TockError']);
});
