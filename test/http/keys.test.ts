import { afterAll, beforeAll, expect, test } from 'vitest';
import { allScopes, type Service, service } from './service.ts';

let tock: Service;
const lease = '00000000-0000-4000-8000-000000000000';

/** Every route and the scope that it needs. */
const scopes = [
  ['POST /v1/queues/q/tasks', 'enqueue'],
  ['POST /v1/queues/q/claim', 'claim'],
  ['POST /v1/claim', 'claim'],
  [`POST /v1/leases/${lease}/complete`, 'claim'],
  [`POST /v1/leases/${lease}/fail`, 'claim'],
  [`POST /v1/leases/${lease}/release`, 'claim'],
  [`POST /v1/leases/${lease}/extend`, 'claim'],
  ['GET /v1/tasks/1048577', 'read'],
  ['GET /v1/queues', 'read'],
  ['GET /v1/queues/q', 'read'],
  ['GET /v1/stats', 'read'],
  ['PUT /v1/queues/q', 'admin'],
  ['GET /v1/keys', 'admin'],
  ['POST /v1/keys', 'admin'],
  ['DELETE /v1/keys/tock_00000000', 'admin'],
  ['PATCH /v1/keys/tock_00000000', 'admin'],
  ['POST /v1/keys/tock_00000000/rotate', 'admin'],
  ['GET /v1/audit-log', 'admin'],
  ['POST /v1/tick', 'admin'],
  ['PATCH /v1/tasks/1048577', 'enqueue'],
  ['POST /v1/tasks/1048577/cancel', 'enqueue'],
  ['POST /v1/tasks/cancel', 'enqueue'],
  ['DELETE /v1/tasks/1048577/payload', 'admin'],
  ['GET /v1/doctor', 'read'],
  ['GET /v1/archive', 'read'],
  ['GET /v1/tasks', 'read'],
  ['GET /v1/leases', 'read'],
  ['GET /v1/workers', 'read'],
  ['GET /v1/maintenance', 'read'],
  ['GET /v1/queues/q/why', 'read'],
  ['GET /v1/queues/q/series', 'read'],
  ['GET /v1/series', 'read'],
  ['GET /v1/overview', 'read'],
  ['GET /metrics', 'read'],
  ['GET /v1/limits', 'read'],
  ['GET /v1/queues/q/limits', 'read'],
  ['POST /v1/queues/q/limits/reset', 'admin'],
] as const;

const body = (route: string) => {
  if (route.startsWith('GET')) return {};
  if (route.startsWith('PATCH /v1/keys')) return { body: { name: 'k' } };
  if (route.startsWith('PATCH')) return { body: { priority: 1 } };
  if (route.endsWith('/tasks/cancel')) return { body: { ids: ['1048577'] } };
  if (route.endsWith('/v1/claim')) return { body: { queues: ['q'] } };
  return { body: route.endsWith('/keys') ? { name: 'k', scopes: ['read'] } : {} };
};

beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

test.each(scopes)('%s needs the scope %s', async (route, scope) => {
  const others = allScopes.filter((other) => other !== scope);
  const refused = await tock.send(route, { ...body(route), key: await tock.makeKey(others) });
  expect(refused).toMatchObject({
    status: 403,
    body: {
      type: '/errors/TK403',
      detail: expect.stringContaining(scope),
      field: 'Authorization',
    },
  });
  const allowed = await tock.send(route, { ...body(route), key: await tock.makeKey([scope]) });
  expect([200, 201, 404, 409]).toContain(allowed.status);
});

test.each(scopes)('%s without a key, or with a wrong one, is refused', async (route) => {
  const sent = tock.statements.length;
  const none = await tock.send(route, { ...body(route), key: null });
  const odd = await tock.send(route, { ...body(route), key: "x' or 1=1 --" });
  expect(tock.statements.length).toBe(sent);
  const unknown = await tock.send(route, { ...body(route), key: 'tock_00000000_0' });
  for (const reply of [none, odd, unknown]) {
    expect(reply).toMatchObject({ status: 401, body: { hint: expect.any(String) } });
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
  }
});

test('a key for one queue cannot use another queue, or its leases and tasks', async () => {
  const key = await tock.makeKey(allScopes, ['mine']);
  const enqueued = await tock.send('POST /v1/queues/theirs/tasks', { body: { payload: 1 } });
  const claimed = await tock.send('POST /v1/queues/theirs/claim');
  const [id] = enqueued.body.ids;
  const routes = [
    'POST /v1/queues/theirs/tasks',
    'POST /v1/queues/theirs/claim',
    `POST /v1/leases/${claimed.body.lease}/complete`,
    `POST /v1/leases/${claimed.body.lease}/extend`,
    `GET /v1/tasks/${id}`,
    'GET /v1/queues/theirs',
    'PUT /v1/queues/theirs',
    'PUT /v1/queues/*',
    'GET /v1/queues',
    'GET /v1/stats',
    'GET /v1/keys',
    'POST /v1/keys',
    'GET /v1/audit-log',
    'POST /v1/tick',
    'GET /v1/doctor',
  ];
  for (const route of routes) {
    expect(await tock.send(route, { ...body(route), key }), route).toMatchObject({ status: 403 });
  }
  expect((await tock.send(`GET /v1/tasks/${id}`)).body.state).toBe('running');
  for (const route of ['POST /v1/queues/mine/tasks', 'POST /v1/queues/mine/claim']) {
    expect((await tock.send(route, { ...body(route), key })).status, route).toBeLessThan(300);
  }
});

test('a repeated scope is stored once', async () => {
  const { body } = await tock.send('POST /v1/keys', {
    body: { name: 'twice', scopes: ['read', 'claim', 'read'] },
  });
  expect(body.scopes).toEqual(['read', 'claim']);
});

test('a key is created, listed and revoked over HTTP, and its secret is shown only once', async () => {
  const made = await tock.send('POST /v1/keys', {
    body: { name: 'w', scopes: ['read'], queues: ['a'] },
  });
  expect(made).toMatchObject({
    status: 201,
    body: { key: expect.any(String), name: 'w', scopes: ['read'], queues: ['a'] },
  });
  const { key, prefix } = made.body;
  expect((await tock.send('GET /v1/queues/a', { key })).status).toBe(404);

  const listed = await tock.send('GET /v1/keys');
  expect(listed.text).not.toContain(key);
  expect(listed.body.keys).toContainEqual(expect.objectContaining({ prefix, revoked_at: null }));

  expect((await tock.send(`DELETE /v1/keys/${prefix}`)).body).toEqual({ prefix, revoked: true });
  expect((await tock.send('GET /v1/queues/a', { key })).status).toBe(401);
  expect((await tock.send('DELETE /v1/keys/tock_00000000')).status).toBe(404);
});
