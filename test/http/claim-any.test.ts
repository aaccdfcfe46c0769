import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

const enqueue = (queue: string, count: number) =>
  tock.add(queue, ...Array.from({ length: count }, (_, n) => ({ payload: `${queue}${n}` })));

type Lease = { queue: string; lease: string; tasks: { payload: string }[] };
const payloads = (leases: Lease[]) =>
  leases.map(({ queue, tasks }) => [queue, tasks.map((task) => task.payload)]);

test('one request claims from several queues, each with a lease of its own', async () => {
  await enqueue('a', 2);
  await enqueue('b', 3);
  const options = { queues: ['a', 'none', 'b'], limit: 4, worker: 'w' };
  const { status, body } = await tock.post('claim', options);
  expect(status).toBe(200);
  expect(body).toMatchObject({ state: 'found', retry_after_seconds: 0 });
  expect(payloads(body.leases)).toEqual([
    ['a', ['a0', 'a1']],
    ['b', ['b0', 'b1']],
  ]);
  const alone = await tock.claim('b');
  const [first] = body.leases;
  expect(Object.keys(first.tasks[0])).toEqual(Object.keys(alone.tasks[0]));
  expect(first.leased_until).toMatch(/^\d{4}-\d\d-\d\dT.*\+00:00$/);
  for (const { lease, tasks } of body.leases) {
    const ended = await tock.post(`leases/${lease}/complete`);
    expect(ended.body).toEqual({ completed: tasks.length, refused: [] });
  }
  const empty = await tock.post('claim', { queues: ['a', 'b'] });
  expect(empty.body).toEqual({ leases: [], state: 'empty', retry_after_seconds: 30 });
});

test('queues have weights, all or some, and a repeated request has the same answer', async () => {
  await enqueue('heavy', 4);
  const queue = { queue: 'heavy', weight: 9 };
  for (const other of [{ queue: 'light', weight: 1 }, 'light']) {
    const body = { queues: [queue, other], request_id: JSON.stringify(other) };
    const first = await tock.post('claim', body);
    expect(first.body.leases).toMatchObject([{ queue: 'heavy', tasks: [{}] }]);
    expect((await tock.post('claim', body)).body).toEqual(first.body);
  }
});

test('a key must be for all of the queues', async () => {
  await enqueue('mine', 1);
  await enqueue('theirs', 1);
  const key = await tock.makeKey(['claim'], ['mine', 'ours']);
  for (const queues of [['mine', 'theirs'], ['theirs', 'mine'], ['theirs']]) {
    expect(await tock.post('claim', { queues, limit: 9 }, key)).toMatchObject({ status: 403 });
  }
  const reading = await tock.makeKey(['read', 'enqueue', 'admin']);
  expect(await tock.post('claim', { queues: ['mine'] }, reading)).toMatchObject({ status: 403 });
  const { body } = await tock.post('claim', { queues: ['mine', 'ours'], limit: 9 }, key);
  expect(payloads(body.leases)).toEqual([['mine', ['mine0']]]);
});
