import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTock, Fatal, type Tock } from '../../client/index.ts';
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

const bodies = (verb: string) =>
  there.seen.filter(({ route }) => route.endsWith(`/${verb}`)).map(({ body }) => body);

test('the next claim completes a lease whose tasks are all done without results', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(50));
  there.seen.length = 0;
  const worked = await tock.work(q, () => {}, { until: 'empty', prefetch: { low: 0, high: 100 } });
  expect(worked).toEqual({ ...nothing, done: 50 });
  expect(bodies('claim').map(({ ends }) => ends)).toEqual([
    undefined,
    [{ lease: expect.any(String) }],
    undefined,
  ]);
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
  const worked = await tock.work(q, handler, { until: 'empty' });
  expect(worked).toEqual({ ...nothing, done: 19, failed: 1 });
  // the last two claims find nothing
  expect(there.seen).toHaveLength(22);
});

test('a claim whose answer is lost ends nothing twice, and loses no task', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(6));
  let calls = 0;
  const lossy = createTock({
    ...there.options,
    async fetch(url: string, init: RequestInit) {
      const answer = (await there.options.fetch?.(url, init)) as Response;
      if (++calls % 2 === 0) throw new TypeError('the answer is lost');
      return answer;
    },
  });
  const ran: unknown[] = [];
  const worked = await lossy.work(q, ({ payload }) => void ran.push(payload), { until: 'empty' });
  expect(worked).toEqual({ ...nothing, done: 6 });
  expect(ran).toEqual([0, 1, 2, 3, 4, 5]);
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
  const worked = await busy.work(q, () => {}, { until: 'empty' });
  expect(worked).toEqual({ ...nothing, done: 3 });
  // one attempt for each outcome at most
  expect([1, 2, 3]).toContain(refused);
  expect(bodies('complete')).toEqual([{}, {}, {}]);
});

test('a task whose lease was lost counts as lost, and the worker goes on', async () => {
  const q = queue();
  await tock.enqueueMany(q, payloadTasks(2));
  let taken = 0;
  const worked = await tock.work(
    q,
    async () => {
      if (taken++ > 0) return;
      await there.owner.query(
        "update tock.leases set leased_until = now() - interval '1 h' where closed_at is null",
      );
      await there.owner.query('select tock.reap(p_sweep => true)');
    },
    { until: 'empty' },
  );
  expect(worked).toEqual({ ...nothing, done: 2, lost: 1 });
});

test('a refused result fails its own task, and the other outcomes are reported', async () => {
  const q = queue();
  const ids = await tock.enqueueMany(q, payloadTasks(5));
  const results = ['a', 1e100, 'c', 1n, 'x'.repeat(300_000)];
  const worked = await tock.work(q, (task) => results[Number(task.payload)], {
    until: 'empty',
    prefetch: { low: 0, high: 5 },
  });
  expect(worked).toEqual({ ...nothing, done: 2, failed: 3 });
  const shown = await Promise.all(ids.map((id) => tock.task(id)));
  expect(shown.map((task) => task?.runs[0]?.error)).toMatchObject(
    [null, { name: 'TockError' }, null, { name: 'TypeError' }, { name: 'TockError' }].map(
      (error) => error && expect.objectContaining(error),
    ),
  );
});
