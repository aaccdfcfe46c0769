import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const claim = async (queue: string, body: object = {}) =>
  (await tock.send(`POST /v1/queues/${queue}/claim`, { body })).body;

test("the state in a claim's answer does not depend on the claim before it", async () => {
  await tock.send('POST /v1/queues/full/tasks', { body: { tasks: [{}, {}] } });
  await tock.send('PUT /v1/queues/still', { body: { paused: true } });
  await tock.send('POST /v1/queues/still/tasks', { body: {} });
  const nothing = { lease: null, leased_until: null, tasks: [] };
  for (let round = 0; round < 2; round++) {
    expect(await claim('full')).toMatchObject({ state: 'found', retry_after_seconds: 0 });
    const empty = await claim('empty');
    expect(empty).toMatchObject({ ...nothing, state: 'empty' });
    expect(empty.retry_after_seconds).toBeGreaterThan(0);
    const paused = await claim('still');
    expect(paused).toMatchObject({ ...nothing, state: 'paused' });
    expect(paused.retry_after_seconds).toBeGreaterThan(0);
  }
});

test('a claim repeated by its request id has the state "found" both times', async () => {
  await tock.send('POST /v1/queues/again/tasks', { body: {} });
  const first = await claim('again', { request_id: 'r' });
  expect(first.state).toBe('found');
  expect(await claim('again', { request_id: 'r' })).toEqual(first);
});

test('the state of a claim tells busy streams from an empty queue', async () => {
  await tock.send('POST /v1/queues/busy/tasks', { body: { tasks: [{}, {}] } });
  const other = await tock.database.connect();
  await other.query('begin');
  await other.query("select lease from tock.claim(p_queue => 'busy')");
  expect(await claim('busy')).toMatchObject({ lease: null, state: 'busy' });
  await other.query('rollback');
  expect(await claim('busy')).toMatchObject({ state: 'found' });
});

/** Enqueues `cancelled` tasks and cancels them, then enqueues one more task. */
async function behind(queue: string, cancelled: number): Promise<void> {
  for (let left = cancelled; left > 0; left -= 5000) {
    const tasks = Array(Math.min(left, 5000)).fill({});
    const { body } = await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { tasks } });
    await tock.send('POST /v1/tasks/cancel', { body: { ids: body.ids } });
  }
  await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { payload: 'behind' } });
}

test('a claim that only skipped cancelled runs has the state "passing"', async () => {
  await behind('passed', 20_000);
  const passing = await claim('passed');
  expect(passing).toMatchObject({ lease: null, state: 'passing', retry_after_seconds: 0 });
  const from = tock.statements.length;
  await expect
    .poll(async () => (await claim('passed')).tasks)
    .toMatchObject([{ payload: 'behind' }]);
  expect(tock.statements.length - from).toBeLessThanOrEqual(3);
});

test('a waiting claim continues while it skips cancelled runs', async () => {
  await behind('waited', 25_000);
  const from = tock.statements.length;
  const answer = await claim('waited', { wait_seconds: 30 });
  expect(answer).toMatchObject({ state: 'found', tasks: [{ payload: 'behind' }] });
  const sent = tock.statements.slice(from);
  expect(sent.length).toBeGreaterThan(2);
  // The further polls say `p_again`, so that they do not count for the key's rate limit.
  const texts = sent.map(({ text }) => text.replace('p_again => true, ', ''));
  expect(new Set(texts).size).toBe(1);
});

test('a claim at a limit has the state "limited" and says when to retry', async () => {
  await tock.send('PUT /v1/queues/few', { body: { max_running: 1 } });
  await tock.send('PUT /v1/queues/slow', { body: { rate_limit: 1, rate_seconds: 600 } });
  for (const [queue, least, most] of [
    ['few', 1, 1],
    ['slow', 500, 600],
  ] as const) {
    await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { tasks: [{}, {}] } });
    expect((await claim(queue, { limit: 2 })).tasks).toHaveLength(1);
    const limited = await claim(queue);
    expect(limited).toMatchObject({ lease: null, tasks: [], state: 'limited' });
    expect(limited.retry_after_seconds).toBeGreaterThanOrEqual(least);
    expect(limited.retry_after_seconds).toBeLessThanOrEqual(most);
  }
  const slow = await tock.send('GET /v1/queues/slow/limits');
  expect(slow.body).toMatchObject({ queue: 'slow', rate_limit: 1, rate_burst: 1, running: null });
  expect(slow.body.level).toBeLessThan(1);
  const all = (await tock.send('GET /v1/limits')).body.limits;
  expect(all).toMatchObject([{ queue: 'few', max_running: 1, running: 1, level: null }, {}]);
  const reset = await tock.send('POST /v1/queues/slow/limits/reset');
  expect(reset.body).toMatchObject({ queue: 'slow', level: 1 });
  expect(await claim('slow')).toMatchObject({ state: 'found' });
  expect(await tock.send('GET /v1/queues/full/limits')).toMatchObject({ status: 404 });
  expect(await tock.send('POST /v1/queues/full/limits/reset')).toMatchObject({ status: 404 });
});

test('a waiting claim at a limit gets its task when another one has ended', async () => {
  const body = { max_running: 1 };
  await tock.send('PUT /v1/queues/next', { body });
  await tock.send('POST /v1/queues/next/tasks', { body: { tasks: [{}, {}] } });
  const first = await claim('next');
  const from = tock.statements.length;
  const waiting = claim('next', { wait_seconds: 30 });
  await expect.poll(() => tock.statements.length - from).toBeGreaterThan(2);
  await tock.send(`POST /v1/leases/${first.lease}/complete`);
  expect(await waiting).toMatchObject({ state: 'found', tasks: [{}] });
});
