import { afterEach, expect, test, vi } from 'vitest';
import { connect } from '../../functions/database/connect.ts';
import { createApp } from '../../functions/http/app.ts';
import { fileService } from './file_service.ts';
import { service } from './service.ts';

const tock = fileService();

const log = vi.spyOn(console, 'error').mockImplementation(() => {});
afterEach(() => log.mockClear());

/** Sends a request to an app with this database URL, which leads to no database or to another one. */
async function without(DATABASE_URL: string, path: string) {
  const app = createApp((_env, use) => connect({ DATABASE_URL }, use));
  return app.request(path, { headers: { authorization: `Bearer ${tock.key}` } });
}

test('the health check needs no key', async () => {
  const reply = await tock.send('GET /v1/health', { key: null });
  expect(reply).toMatchObject({ status: 200, body: { status: 'ok', database: 'reachable' } });
});

test('a health check leaves no timer behind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  try {
    const app = createApp((_env, use) => use(async () => []));
    expect((await app.request('/v1/health')).status).toBe(200);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('without a database the answer is a 503 with Retry-After and without internal details', async () => {
  const wrong = new URL(tock.database.edgeUrl);
  wrong.port = '1';
  const other = new URL(tock.database.edgeUrl);
  other.password = 'wrong';
  for (const [url, path] of [
    [wrong.href, '/v1/queues'],
    [wrong.href, '/v1/health'],
    [other.href, '/v1/health'],
    ['', '/v1/queues'],
  ] as const) {
    const reply = await without(url, path);
    expect(reply.status).toBe(503);
    expect(reply.headers.get('retry-after')).toBe('1');
    const text = await reply.text();
    expect(JSON.parse(text)).toMatchObject({ type: '/errors/TK503' });
    expect(text).not.toMatch(/ECONN|127\.0\.0\.1|tock_edge|password|\bat /);
  }
  expect(log).toHaveBeenCalledTimes(4);
  expect(log.mock.calls.join()).not.toContain(new URL(tock.database.edgeUrl).password);
});

test('an unexpected error is a 500 without its message', async () => {
  const app = createApp(() => Promise.reject(new Error('secret detail')));
  const reply = await app.request('/v1/queues', { headers: { authorization: 'Bearer k' } });
  expect(reply.status).toBe(500);
  expect(await reply.text()).not.toMatch(/secret|\bat |\.ts/);
  expect(log.mock.calls.join()).toContain('secret detail');
});

test('an unknown route is a 404, and an unknown method a 405 with the allowed ones', async () => {
  expect(await tock.send('GET /v1/nothing')).toMatchObject({
    status: 404,
    body: { type: '/errors/TK404' },
  });
  const wrong = await tock.send('DELETE /v1/tasks/1');
  expect(wrong.status).toBe(405);
  expect(wrong.headers.get('allow')).toBe('GET, HEAD, PATCH');
  expect(wrong.headers.get('content-type')).toBe('application/problem+json');
});

test('each answer has a request id: that of its request, or a new one', async () => {
  for (const route of ['GET /v1/health', 'GET /v1/nothing', 'POST /v1/tick']) {
    const { headers } = await tock.send(route, { headers: { 'X-Request-Id': 'mine' } });
    expect(headers.get('x-request-id'), route).toBe('mine');
  }
  const { headers } = await tock.send('GET /v1/health');
  expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
});

test('no request leaves a connection behind', async () => {
  // Takes only the database and the key from the service: the app below connects without the pooler.
  const { database, key, owner } = await service();
  const app = createApp((_env, use) => connect({ DATABASE_URL: database.edgeUrl }, use));
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const replies = await Promise.all([
    app.request('/v1/health'),
    app.request('/v1/queues', { headers }),
    app.request('/v1/queues', { headers: { authorization: 'Bearer wrong' } }),
    app.request('/v1/queues/q/claim', { method: 'POST', headers, body: '{"wait_seconds": 1}' }),
  ]);
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 401, 200]);
  await expect
    .poll(async () => {
      const { rows } = await owner.query(
        "select from pg_stat_activity where datname = current_database() and usename = 'tock_edge'",
      );
      return rows.length;
    })
    .toBe(0);
  await database.drop();
});
