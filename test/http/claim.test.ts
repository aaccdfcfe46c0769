import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

test('a claim without tasks, or from a paused queue, says so and when to retry', async () => {
  await tock.send('PUT /v1/queues/paused', { body: { paused: true } });
  await tock.add('paused');
  for (const state of ['empty', 'paused']) {
    const { retry_after_seconds, ...nothing } = await tock.claim(state);
    expect(nothing).toEqual({ lease: null, leased_until: null, tasks: [], state });
    expect(retry_after_seconds).toBeGreaterThan(0);
  }
});

test('a claim repeated by its request id gives the same tasks', async () => {
  await tock.add('again', {}, {}, {});
  const body = { worker: 'w', limit: 2, request_id: 'r1' };
  const first = await tock.post('queues/again/claim', body);
  expect(first.body.tasks).toHaveLength(2);
  const { request_id, ...same } = body;
  const headers = { 'Idempotency-Key': request_id };
  const second = await tock.send('POST /v1/queues/again/claim', { body: same, headers });
  expect(second.body).toEqual(first.body);
  const ended = await tock.post(`leases/${first.body.lease}/complete`);
  expect(ended.body.completed).toBe(2);
  expect(await tock.post('queues/again/claim', body)).toMatchObject({ status: 409 });
});

test('a waiting claim polls at most fifty times a second, and ends at its time limit', async () => {
  const [from, started] = [tock.statements.length, performance.now()];
  const empty = await tock.claim('vain', { wait_seconds: 3 });
  const seconds = (performance.now() - started) / 1000;
  expect(empty).toMatchObject({ lease: null, tasks: [] });
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
  const body = { wait_seconds: 30 };
  const waiting = tock.send('POST /v1/queues/gone/claim', { body, signal: client.signal });
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(1);
  client.abort();
  const before = tock.statements.length;
  await waiting.catch(() => {});
  // A claim that still waited would have polled many times.
  expect(tock.statements.length - before).toBeLessThan(3);
});
