import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

test('a claim without tasks says when to retry', async () => {
  const empty = await tock.send('POST /v1/queues/empty/claim', { body: { worker: 'w' } });
  expect(empty).toMatchObject({
    status: 200,
    body: {
      lease: null,
      leased_until: null,
      tasks: [],
      state: 'empty',
      retry_after_seconds: expect.any(Number),
    },
  });
  expect(empty.body.retry_after_seconds).toBeGreaterThan(0);
});

test('a claim repeated by its request id gives the same tasks', async () => {
  await tock.send('POST /v1/queues/again/tasks', { body: { tasks: [{}, {}, {}] } });
  const body = { worker: 'w', limit: 2, request_id: 'r1' };
  const first = await tock.send('POST /v1/queues/again/claim', { body });
  expect(first.body.tasks).toHaveLength(2);
  const { request_id, ...same } = body;
  const second = await tock.send('POST /v1/queues/again/claim', {
    body: same,
    headers: { 'Idempotency-Key': request_id },
  });
  expect(second.body).toEqual(first.body);
  const ended = await tock.send(`POST /v1/leases/${first.body.lease}/complete`);
  expect(ended.body.completed).toBe(2);
  expect(await tock.send('POST /v1/queues/again/claim', { body })).toMatchObject({ status: 409 });
});

test('a claim takes up to `limit` tasks, with the requested lease', async () => {
  await tock.send('POST /v1/queues/limit/tasks', { body: { tasks: Array(20).fill({}) } });
  const claimed = await tock.send('POST /v1/queues/limit/claim', {
    body: { limit: 7, lease_seconds: 3600 },
  });
  expect(claimed.body.tasks).toHaveLength(7);
  const left = new Date(claimed.body.leased_until).getTime() - Date.now();
  expect(left).toBeGreaterThan(3_590_000);
});

test('a claim that waits gets a task enqueued later', async () => {
  const from = tock.statements.length;
  const waiting = tock.send('POST /v1/queues/poll/claim', { body: { wait_seconds: 30 } });
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(3);
  await tock.send('POST /v1/queues/poll/tasks', { body: { payload: 'late' } });
  const claimed = await waiting;
  expect(claimed.body.tasks).toMatchObject([{ payload: 'late' }]);
});

test('a waiting claim polls at most fifty times a second, and ends at its time limit', async () => {
  const [from, started] = [tock.statements.length, performance.now()];
  const empty = await tock.send('POST /v1/queues/vain/claim', { body: { wait_seconds: 3 } });
  const seconds = (performance.now() - started) / 1000;
  expect(empty.body).toMatchObject({ lease: null, tasks: [] });
  expect(seconds).toBeGreaterThan(2.9);
  const sent = tock.statements.slice(from);
  // The further polls say `p_again`, so that they do not count for the key's rate limit.
  const texts = sent.map(({ text }) => text.replace('p_again => true, ', ''));
  expect(new Set(texts).size).toBe(1);
  expect(sent.length).toBeLessThanOrEqual(190);
});

test('a waiting claim stops polling when its client disconnects', async () => {
  const from = tock.statements.length;
  const client = new AbortController();
  const waiting = tock.send('POST /v1/queues/gone/claim', {
    body: { wait_seconds: 30 },
    signal: client.signal,
  });
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(1);
  client.abort();
  const before = tock.statements.length;
  await waiting.catch(() => {});
  // A claim that still waited would have polled many times.
  expect(tock.statements.length - before).toBeLessThan(3);
});
