import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock, Fatal, RetryIn, type Tock } from '../../client/index.ts';
import { type ClientService, payloadTasks, startClientService } from './service.ts';

let there: ClientService;
let tock: Tock;
let count = 0;
const queue = () => `work${++count}`;
const nothing = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0 };

beforeAll(async () => {
  there = await startClientService();
  tock = createTock(there.options);
});
afterAll(() => there.database.drop());

test('a worker runs all tasks, reports their results, and ends when the queue is empty', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(3));
  const worked = await tock.work(q, (task) => ({ twice: Number(task.payload) * 2 }), {
    until: 'empty',
    worker: 'w',
  });
  expect(worked).toEqual({ ...nothing, done: 3 });
  expect(await tock.task(ids[2] as string)).toMatchObject({
    state: 'done',
    result: { twice: 4 },
    runs: [{ worker: 'w' }],
  });
});

test('a thrown error fails the task: it is retried, retried after a delay, or dead', async () => {
  const q = queue();
  const [plain, later, never] = (await tock.enqueueMany(q, payloadTasks(3))) as [
    string,
    string,
    string,
  ];
  const heard: unknown[] = [];
  const errors = [new TypeError('plain \ud800\0'), new RetryIn(3000, 'later'), new Fatal('never')];
  const worked = await tock.work(
    q,
    (task) => {
      throw errors[Number(task.payload)];
    },
    { until: 'empty', on_error: (error, task) => heard.push([error, task?.id]) },
  );
  expect(worked).toEqual({ ...nothing, failed: 3 });
  expect(heard).toEqual([plain, later, never].map((id, n) => [errors[n], id]));
  const shown = await tock.task(plain);
  expect(shown).toMatchObject({
    state: 'waiting',
    runs: [
      {
        error: {
          name: 'TypeError',
          message: 'plain \ufffd\ufffd',
          stack: expect.stringMatching(/plain/),
        },
      },
    ],
  });
  expect(await tock.task(never)).toMatchObject({ state: 'dead', error: { name: 'Fatal' } });
  const far = Date.parse((await tock.task(later))?.run_at ?? '');
  expect(far - Date.parse(shown?.run_at ?? '')).toBeGreaterThan(2_000_000);
});

test('an invalid delay in RetryIn fails the task', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  const handle = () => {
    throw new RetryIn(-5);
  };
  expect(await tock.work(q, handle, { until: 'empty' })).toEqual({ ...nothing, failed: 1 });
  const [run] = (await tock.task(id))?.runs ?? [];
  expect(run?.error).toMatchObject({ message: expect.stringMatching(/retry_in_seconds/) });
});

test('an error listener that throws does not stop the worker', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(2));
  const fails = () => {
    throw new Error('no');
  };
  const worked = await tock.work(q, fails, { until: 'empty', on_error: fails });
  expect(worked).toEqual({ ...nothing, failed: 2 });
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
    { until: 'empty', weights: { orders: 2, mails: 1 } },
  );
  expect(worked).toEqual({ ...nothing, done: 2 });
  expect(sent).toEqual(['a']);
});

test('a handler chooses the next stage of a pipeline', async () => {
  const [first, second, third] = [queue(), queue(), queue()] as const;
  const id = await tock.enqueue(first, 1, { pipeline: [first, second, third] });
  const worked = await tock.work(
    { [first]: (_, { stage }) => stage(third), [second]: () => 'never', [third]: () => 'end' },
    { until: 'empty' },
  );
  expect(worked).toEqual({ ...nothing, done: 2 });
  expect(await tock.task(id)).toMatchObject({ state: 'done', result: 'end' });
});

test('prefetch: a worker never holds more than `high` tasks, and claims at `low`', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(12));
  there.seen.length = 0;
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const work = tock.work(q, (task) => (Number(task.payload) < 4 ? undefined : opened), {
    until: 'empty',
    concurrency: 3,
    prefetch: { low: 3, high: 7 },
  });
  const limits = () =>
    there.seen.filter(({ route }) => route.endsWith('/claim')).map(({ body }) => body.limit);
  await expect.poll(limits).toEqual([7, 4]);
  const running = async () =>
    (await there.owner.query('select running from tock.queue_stats($1)', [q])).rows[0].running;
  await expect.poll(async () => Number(await running())).toBe(7);
  open();
  expect(await work).toEqual({ ...nothing, done: 12 });
});

test('as many handlers run at once as `concurrency` says', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(6));
  let [now, most] = [0, 0];
  let open = () => {};
  const latch = new Promise<void>((resolve) => {
    open = resolve;
  });
  const worked = await tock.work(
    q,
    async () => {
      most = Math.max(most, ++now);
      if (now === 3) open();
      await latch;
      now--;
    },
    { until: 'empty', concurrency: 3 },
  );
  expect(worked).toEqual({ ...nothing, done: 6 });
  expect(most).toBe(3);
});

test('a waiting worker gets a new task, and runs until it is stopped', async () => {
  const q = queue();
  const stop = new AbortController();
  const done: unknown[] = [];
  const work = tock.work(q, (task) => void done.push(task.payload), {
    signal: stop.signal,
    wait_seconds: 1,
  });
  for (const payload of ['a', 'b']) {
    await tock.enqueue(q, payload);
    await expect.poll(() => done).toContain(payload);
  }
  stop.abort();
  expect(await work).toEqual({ ...nothing, done: 2 });
});

test('a worker stops when its time is up, and does nothing if its signal has already aborted', async () => {
  const q = queue();
  expect(await tock.work(q, () => {}, { for_seconds: 0.3 })).toEqual(nothing);
  await tock.enqueue(q, 1);
  for (const options of [{ until: new Date(0) }, { signal: AbortSignal.abort() }]) {
    expect(await tock.work(q, () => {}, options)).toEqual(nothing);
  }
});

test('a worker continues after a failed call, and ends if its key is refused', async () => {
  const q = queue();
  await tock.enqueue(q, 1);
  const heard: unknown[] = [];
  const stop = new AbortController();
  there.fate('unsent');
  const once = createTock({ ...there.options, retries: 0 });
  const worked = await once.work(q, () => stop.abort(), {
    signal: stop.signal,
    on_error: (error) => heard.push(error),
  });
  expect(worked).toEqual({ ...nothing, done: 1 });
  expect(heard).toMatchObject([{ name: 'TockError', status: 0 }]);
  const stranger = createTock({ ...there.options, key: 'tock_nobody' });
  await expect(stranger.work(q, () => {})).rejects.toMatchObject({ status: 401 });
});
