import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const enqueue = (queue: string, count: number) =>
  tock.send(`POST /v1/queues/${queue}/tasks`, {
    body: { tasks: Array.from({ length: count }, (_, n) => ({ payload: `${queue}${n}` })) },
  });

const claim = async (body: object, key?: string) =>
  tock.send('POST /v1/claim', { body, ...(key && { key }) });

type Lease = { queue: string; lease: string; tasks: { payload: string }[] };
const payloads = (leases: Lease[]) =>
  leases.map(({ queue, tasks }) => [queue, tasks.map((task) => task.payload)]);

test('one request claims from several queues, each with a lease of its own', async () => {
  await enqueue('a', 2);
  await enqueue('b', 3);
  const { status, body } = await claim({ queues: ['a', 'none', 'b'], limit: 4, worker: 'w' });
  expect(status).toBe(200);
  expect(body).toMatchObject({ state: 'found', retry_after_seconds: 0 });
  expect(payloads(body.leases)).toEqual([
    ['a', ['a0', 'a1']],
    ['b', ['b0', 'b1']],
  ]);
  const alone = await tock.send('POST /v1/queues/b/claim', { body: {} });
  const [first] = body.leases;
  expect(Object.keys(first.tasks[0])).toEqual(Object.keys(alone.body.tasks[0]));
  expect(first.leased_until).toMatch(/^\d{4}-\d\d-\d\dT.*\+00:00$/);
  for (const { lease, tasks } of body.leases) {
    const ended = await tock.send(`POST /v1/leases/${lease}/complete`);
    expect(ended.body).toEqual({ completed: tasks.length, refused: [] });
  }
  const empty = await claim({ queues: ['a', 'b'] });
  expect(empty.body).toEqual({ leases: [], state: 'empty', retry_after_seconds: 30 });
});

test('queues have weights, all or some', async () => {
  await enqueue('heavy', 4);
  for (const queues of [
    [
      { queue: 'heavy', weight: 9 },
      { queue: 'light', weight: 1 },
    ],
    [{ queue: 'heavy', weight: 9 }, 'light'],
  ]) {
    const { body } = await claim({ queues });
    expect(body.leases).toMatchObject([{ queue: 'heavy', tasks: [{}] }]);
  }
});

test('a claim repeated by its request id, or the header, has the same answer', async () => {
  await enqueue('again', 2);
  const queues = ['again', 'more'];
  const first = await claim({ queues, limit: 5, request_id: 'r' });
  await enqueue('more', 2);
  expect((await claim({ queues, limit: 5, request_id: 'r' })).body).toEqual(first.body);
  const headers = { 'Idempotency-Key': 'r' };
  const third = await tock.send('POST /v1/claim', { body: { queues, limit: 5 }, headers });
  expect(third.body).toEqual(first.body);
});

test('a waiting claim gets a task that is enqueued into any of its queues', async () => {
  const from = tock.statements.length;
  const waiting = claim({ queues: ['quiet', 'later'], wait_seconds: 30 });
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(3);
  await enqueue('later', 1);
  expect((await waiting).body).toMatchObject({ leases: [{ queue: 'later' }], state: 'found' });
});

test('a key must be for all of the queues', async () => {
  await enqueue('mine', 1);
  await enqueue('theirs', 1);
  const key = await tock.makeKey(['claim'], ['mine', 'ours']);
  for (const queues of [['mine', 'theirs'], ['theirs', 'mine'], ['theirs']]) {
    expect(await claim({ queues, limit: 9 }, key)).toMatchObject({ status: 403 });
  }
  const reading = await tock.makeKey(['read', 'enqueue', 'admin']);
  expect(await claim({ queues: ['mine'] }, reading)).toMatchObject({ status: 403 });
  const { body } = await claim({ queues: ['mine', 'ours'], limit: 9 }, key);
  expect(payloads(body.leases)).toEqual([['mine', ['mine0']]]);
});

test("a key for one of the queues can end only that queue's lease", async () => {
  await enqueue('left', 1);
  await enqueue('right', 1);
  const { body } = await claim({ queues: ['left', 'right'], limit: 2 });
  const key = await tock.makeKey(['claim'], ['left']);
  const [left, right] = body.leases as Lease[];
  for (const verb of ['complete', 'fail', 'release', 'extend']) {
    const refused = await tock.send(`POST /v1/leases/${right?.lease}/${verb}`, { key });
    expect(refused.status, verb).toBe(403);
  }
  const ended = await tock.send(`POST /v1/leases/${left?.lease}/complete`, { key });
  expect(ended.body).toMatchObject({ completed: 1 });
});

test.each([
  [{}, 'queues'],
  [{ queues: [] }, 'queues'],
  [{ queues: 'a' }, 'queues'],
  [{ queues: ['a', 'b', 'a'] }, 'queues'],
  [{ queues: Array.from({ length: 21 }, (_, n) => `q${n}`) }, 'queues'],
  [{ queues: ['a', '*'] }, 'queues[1]'],
  [{ queues: ['a', { queue: 'b', weight: 0 }] }, 'queues[1].weight'],
  [{ queues: ['a', 1] }, 'queues[1]'],
  [{ queues: ['a'], limit: 0 }, 'limit'],
])('%j is refused', async (body, field) => {
  expect(await claim(body)).toMatchObject({ status: 422, body: { field } });
});
