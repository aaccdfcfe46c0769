import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { payloadTasks } from '../client/service.ts';
import { type Service, service } from '../http/service.ts';
import { enqueue } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { idle } from './idle.ts';

let tock: Service;
let n = 0;
const queue = () => `q${n++}`;

beforeAll(async () => {
  tock = await service({ TOCK_ONE_PROCESS: '1', TOCK_IDLE_POLL_SECONDS: '600' });
});
afterAll(() => tock.database.drop());
beforeEach(() => {
  tock.statements.length = 0;
});

const claim = (q: string, more: { signal?: AbortSignal } = {}) =>
  tock.send(`POST /v1/queues/${q}/claim`, { body: { wait_seconds: 30 }, ...more });
const add = (q: string, tasks: object[] = [{ payload: 1 }]) =>
  tock.send(`POST /v1/queues/${q}/tasks`, { body: { tasks } });
const claims = () => tock.statements.filter(({ text }) => text.includes('claim')).length;

const waitUntilIdle = () => idle(claims);

test('an enqueue over HTTP wakes one waiting claim, and the others ask nothing', async () => {
  const q = queue();
  const waiting = Array.from({ length: 20 }, () => claim(q));
  await waitUntilIdle();
  // Polling each 20 ms would need a thousand each second.
  expect(claims()).toBeLessThan(100);
  tock.statements.length = 0;
  await add(q);
  const first = await Promise.race(waiting);
  expect(first.body).toMatchObject({ state: 'found', tasks: [{ payload: 1 }] });
  // The claim that found the task woke two others, which found nothing.
  await waitUntilIdle();
  expect(claims()).toBeLessThan(100);
  await add(q, payloadTasks(19));
  const all = await Promise.all(waiting);
  expect(all.flatMap(({ body }) => body.tasks)).toHaveLength(20);
});

test('a claim whose client has left takes no other claim its task', async () => {
  const q = queue();
  const client = new AbortController();
  const left = claim(q, { signal: client.signal });
  await waitUntilIdle();
  const other = claim(q);
  await waitUntilIdle();
  client.abort();
  await left.catch(() => {});
  await add(q);
  expect((await other).body).toMatchObject({ state: 'found' });
});

test('the end of a task wakes all calls that wait for it', async () => {
  const q = queue();
  const [id] = (await add(q)).body.ids;
  const { body } = await tock.send(`POST /v1/queues/${q}/claim`, { body: {} });
  const looks = Array.from({ length: 5 }, () => tock.send(`GET /v1/tasks/${id}?wait_seconds=30`));
  await vi.waitUntil(() => tock.statements.length >= 12, { timeout: conditionTimeout });
  await tock.send(`POST /v1/leases/${body.lease}/complete`, { body: {} });
  for (const look of await Promise.all(looks)) expect(look.body.state).toBe('done');
});

/** A claim that waits for the child of a running task. */
async function waitingForChild() {
  const [parents, children] = [queue(), queue()];
  const [id] = (await add(parents)).body.ids;
  await add(children, [{ payload: 2, depends_on: [id] }]);
  const { lease } = (await tock.send(`POST /v1/queues/${parents}/claim`, { body: {} })).body;
  const waiting = claim(children);
  await waitUntilIdle();
  return { parents, children, lease, waiting };
}

test('the end of a parent wakes a claim of its child, and a resumed queue its claims', async () => {
  const { children, lease, waiting } = await waitingForChild();
  await tock.send(`POST /v1/leases/${lease}/complete`, { body: {} });
  expect((await waiting).body).toMatchObject({ state: 'found' });
  await tock.send(`PUT /v1/queues/${children}`, { body: { paused: true } });
  await add(children);
  const held = claim(children);
  await waitUntilIdle();
  await tock.send(`PUT /v1/queues/${children}`, { body: { paused: false } });
  expect((await held).body).toMatchObject({ state: 'found' });
});

test('a claim that ends leases and waits tells of the ends at once', async () => {
  const { parents, lease, waiting } = await waitingForChild();
  const client = new AbortController();
  const body = { wait_seconds: 30, ends: [{ lease }] };
  const { signal } = client;
  const next = tock.send(`POST /v1/queues/${parents}/claim`, { body, signal });
  expect((await Promise.race([waiting, next])).body).toMatchObject({ tasks: [{ payload: 2 }] });
  client.abort();
  await next.catch(() => {});
});

test('a revoked key no longer waits', async () => {
  const q = queue();
  const key = await tock.makeKey(['claim'], [q]);
  const request = { key, body: { wait_seconds: 1 } };
  const status = async () => (await tock.send(`POST /v1/queues/${q}/claim`, request)).status;
  expect([await status(), await status()]).toEqual([200, 200]);
  await tock.send(`DELETE /v1/keys/${key.slice(0, 13)}`);
  expect(await status()).toBe(401);
});

test('a task that was enqueued in SQL is found by the next look', async () => {
  const q = queue();
  const waiting = claim(q);
  await vi.waitUntil(() => claims() > 0, { timeout: conditionTimeout });
  await enqueue(tock.owner, q, [{ payload: 'from SQL' }]);
  expect((await waiting).body).toMatchObject({ tasks: [{ payload: 'from SQL' }] });
});

test('claims with a new request id share looks, and others look themselves, first and last', async () => {
  const q = queue();
  const body = { wait_seconds: 1 };
  const thirty = async (headers: Record<string, string>) => {
    // So that there is a look to share.
    await tock.send(`POST /v1/queues/${q}/claim`, { body });
    tock.statements.length = 0;
    const waiting = Array.from({ length: 30 }, () => {
      const ownId = { ...body, request_id: crypto.randomUUID() };
      return tock.send(`POST /v1/queues/${q}/claim`, { body: ownId, headers });
    });
    for (const answer of await Promise.all(waiting)) expect(answer.body.state).toBe('empty');
    return claims();
  };
  expect(await thirty({})).toBeGreaterThanOrEqual(60);
  expect(await thirty({ 'Tock-First-Try': 'true' })).toBeLessThan(60);
});
