import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const add = async (queue: string, tasks: object[]): Promise<string[]> =>
  (await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { tasks } })).body.ids;
const claim = async (queue: string) =>
  (await tock.send(`POST /v1/queues/${queue}/claim`, { body: { limit: 10 } })).body;
const concurrencyKeyOf = async (path: string) => (await tock.send(`GET /v1/queues/${path}`)).body;

test('tasks with the same concurrency key are claimed one at a time, and the key lists its holder', async () => {
  const ids = await add('limited', [
    { concurrency_key: 'user 1/2' },
    { concurrency_key: 'user 1/2' },
  ]);
  const { tasks, lease } = await claim('limited');
  expect(tasks).toMatchObject([{ id: ids[0] }]);
  expect(await claim('limited')).toMatchObject({ tasks: [], state: 'empty' });
  const concurrency_key = {
    concurrency_key: 'user 1/2',
    paused: false,
    concurrency_limit: 1,
    concurrency_rate_limit: null,
    concurrency_rate_seconds: 1,
    concurrency_rate_burst: null,
    holders: [ids[0]],
    waiting: 1,
  };
  expect(await concurrencyKeyOf('limited/concurrency-keys/user%201%2F2')).toEqual(concurrency_key);
  expect(await concurrencyKeyOf('limited/concurrency-keys')).toEqual({
    concurrency_keys: [concurrency_key],
  });
  expect((await tock.send(`POST /v1/leases/${lease}/complete`)).body).toMatchObject({
    completed: 1,
  });
  expect((await claim('limited')).tasks).toMatchObject([{ id: ids[1] }]);
});

test('a concurrency key is resized, paused and reset, and invalid or forbidden changes are refused', async () => {
  await add(
    'sized',
    Array.from({ length: 4 }, () => ({ concurrency_key: 'k' })),
  );
  expect((await claim('sized')).tasks).toHaveLength(1);
  const path = '/v1/queues/sized/concurrency-keys/k';
  const paused = await tock.send(`PATCH ${path}`, { body: { concurrency_limit: 3, paused: true } });
  expect(paused).toMatchObject({ status: 200, body: { concurrency_limit: 3, paused: true } });
  expect((await claim('sized')).tasks).toHaveLength(0);
  await tock.send(`PATCH ${path}`, { body: { paused: false } });
  expect((await claim('sized')).tasks).toHaveLength(2);
  expect((await tock.send(`DELETE ${path}`)).body).toEqual({ reset: true });
  expect(await concurrencyKeyOf('sized/concurrency-keys/k')).toMatchObject({
    concurrency_limit: 1,
    waiting: 1,
  });

  for (const [body, field] of [
    [{ concurrency_limit: 0 }, 'concurrency_limit'],
    [{ concurrency_rate_limit: 1.5 }, 'concurrency_rate_limit'],
    [{ paused: null }, 'paused'],
    [{ limit: 3 }, 'limit'],
  ] as const) {
    const refused = await tock.send(`PATCH ${path}`, { body });
    expect(refused, JSON.stringify(body)).toMatchObject({ status: 422 });
    expect(refused.text).toContain(field);
  }
  for (const route of ['GET', 'DELETE']) {
    const unknown = await tock.send(`${route} /v1/queues/sized/concurrency-keys/unknown`);
    expect(unknown).toMatchObject({
      status: 404,
      body: { hint: expect.stringContaining('PATCH') },
    });
  }
  const reader = await tock.makeKey(['read'], ['other']);
  for (const route of [
    `GET ${path}`,
    `PATCH ${path}`,
    `DELETE ${path}`,
    'GET /v1/queues/sized/concurrency-keys',
  ]) {
    const body = route.startsWith('PATCH') ? { paused: true } : undefined;
    expect((await tock.send(route, { key: reader, body })).status, route).toBe(403);
  }
});

test('a task shows its options, and a taken unique key returns the task that has it', async () => {
  const settings = {
    concurrency_key: 'g',
    unique_key: 'u',
    timeout_seconds: 30,
    expires_at: '2040-01-01T00:00:00Z',
    backoff: { kind: 'linear', base_seconds: 300 },
  };
  const [id] = await add('asked', [{ payload: 1, ...settings }]);
  const { options } = (await tock.send(`GET /v1/tasks/${id}`)).body;
  expect(options).toEqual({ ...settings, expires_at: '2040-01-01T00:00:00+00:00' });
  expect(await add('asked', [{ unique_key: 'u' }])).toEqual([id]);
  const task = { payload: 2, unique_key: 'u', on_conflict: 'replace' };
  const again = await tock.send('POST /v1/queues/asked/tasks', { body: task });
  expect(again).toMatchObject({ status: 201, body: { ids: [id] } });
  expect((await tock.send(`GET /v1/tasks/${id}`)).body.payload).toBe(2);
});

test('a unique key that an open transaction holds gives a 503 with Retry-After', async () => {
  const body = { unique_key: 'held', on_conflict: 'replace', delay_seconds: 100 };
  const [id] = await add('held', [body]);
  const other = await tock.database.connect();
  await other.query('begin');
  await other.query('select tock.cancel(array[$1::bigint])', [id]);
  const refused = await tock.send('POST /v1/queues/held/tasks', { body });
  expect(refused).toMatchObject({
    status: 503,
    body: {
      field: 'unique_key',
      detail: expect.stringContaining('an open transaction holds'),
      hint: expect.stringMatching(/^Try again/),
    },
  });
  expect(refused.headers.get('retry-after')).toBe('1');
  await other.query('commit');
  expect(await tock.send('POST /v1/queues/held/tasks', { body })).toMatchObject({ status: 201 });
});

test.each([
  [{ concurrency_key: '' }, 'concurrency_key'],
  [{ unique_key: 'x'.repeat(501) }, 'unique_key'],
  [{ unique_policy: 'always' }, 'unique_policy'],
  [{ on_conflict: 'keep' }, 'on_conflict'],
  [{ concurrency_key: 'g', unique_key: 'k', on_conflict: 'rerun' }, 'concurrency_key'],
  [{ timeout_seconds: 0 }, 'timeout_seconds'],
  [{ expires_in_seconds: 5, expires_at: '2040-01-01T00:00:00Z' }, 'expires_in_seconds'],
  [{ backoff: { kind: 'none' } }, 'backoff.kind'],
  [{ backoff: { base: 1 } }, 'backoff.base'],
])('%j is a 422 that names it', async (body, field) => {
  const refused = await tock.send('POST /v1/queues/refused/tasks', { body });
  expect(refused).toMatchObject({ status: 422, body: { field } });
  const listed = await tock.send('POST /v1/queues/refused/tasks', { body: { tasks: [{}, body] } });
  expect(listed).toMatchObject({ status: 422, body: { field: `tasks[1].${field}` } });
});
