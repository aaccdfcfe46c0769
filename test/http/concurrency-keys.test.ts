import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

const claim = (queue: string) => tock.claim(queue, { limit: 10 });
const get = async (path: string) => (await tock.send(`GET /v1/queues/${path}`)).body;

test('tasks with the same concurrency key are claimed one at a time, and the key lists its holder', async () => {
  const task = { concurrency_key: 'user 1/2' };
  const ids = await tock.add('limited', task, task);
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
    own_settings: [],
  };
  expect(await get('limited/concurrency-keys/user%201%2F2')).toEqual(concurrency_key);
  const list = { concurrency_keys: [concurrency_key] };
  expect(await get('limited/concurrency-keys')).toEqual(list);
  await tock.post(`leases/${lease}/complete`);
  expect((await claim('limited')).tasks).toMatchObject([{ id: ids[1] }]);
});

test('a concurrency key is resized, paused and reset, and forbidden changes are refused', async () => {
  await tock.add('sized', ...Array(4).fill({ concurrency_key: 'k' }));
  expect((await claim('sized')).tasks).toHaveLength(1);
  const path = '/v1/queues/sized/concurrency-keys/k';
  const paused = await tock.send(`PATCH ${path}`, { body: { concurrency_limit: 3, paused: true } });
  expect(paused).toMatchObject({ status: 200, body: { concurrency_limit: 3, paused: true } });
  expect(await get('sized/concurrency-keys/k')).toMatchObject({
    own_settings: ['concurrency_limit'],
  });
  expect((await claim('sized')).tasks).toHaveLength(0);
  await tock.send(`PATCH ${path}`, { body: { paused: false } });
  expect((await claim('sized')).tasks).toHaveLength(2);
  expect((await tock.send(`DELETE ${path}`)).body).toEqual({ reset: true });
  const left = { concurrency_limit: 1, waiting: 1 };
  expect(await get('sized/concurrency-keys/k')).toMatchObject(left);

  for (const method of ['GET', 'DELETE']) {
    const unknown = await tock.send(`${method} /v1/queues/sized/concurrency-keys/unknown`);
    expect(unknown.body).toMatchObject({ status: 404, hint: expect.stringContaining('PATCH') });
  }
  const key = await tock.makeKey(['read'], ['other']);
  const list = 'GET /v1/queues/sized/concurrency-keys';
  for (const route of [`GET ${path}`, `PATCH ${path}`, `DELETE ${path}`, list]) {
    const body = route.startsWith('PATCH') ? { paused: true } : undefined;
    expect((await tock.send(route, { key, body })).status, route).toBe(403);
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
  const [id] = await tock.add('asked', { payload: 1, ...settings });
  const { options } = await tock.task(id);
  expect(options).toEqual({ ...settings, expires_at: '2040-01-01T00:00:00+00:00' });
  expect(await tock.add('asked', { unique_key: 'u' })).toEqual([id]);
  const again = { payload: 2, unique_key: 'u', on_conflict: 'replace' };
  expect(await tock.add('asked', again)).toEqual([id]);
  expect((await tock.task(id)).payload).toBe(2);
});

test('a unique key that an open transaction holds gives a 503 with Retry-After', async () => {
  const body = { unique_key: 'held', on_conflict: 'replace', delay_seconds: 100 };
  const [id] = await tock.add('held', body);
  const other = await tock.database.connect();
  await other.query('begin');
  await other.query('select tock.cancel(array[$1::bigint])', [id]);
  const refused = await tock.post('queues/held/tasks', body);
  expect(refused.body).toMatchObject({
    status: 503,
    field: 'unique_key',
    detail: expect.stringContaining('an open transaction holds'),
    hint: expect.stringMatching(/^Try again/),
  });
  expect(refused.headers.get('retry-after')).toBe('1');
  await other.query('commit');
  expect(await tock.post('queues/held/tasks', body)).toMatchObject({ status: 201 });
});
