import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';
import { allScopes, type Scope } from './service.ts';

const tock = fileService();
const lease = 'leases/00000000-0000-4000-8000-000000000000';
const key = 'keys/tock_00000000';

/** Routes by their method and the scope that they need. */
const routes = {
  'POST enqueue': 'queues/q/tasks tasks/1048577/cancel tasks/cancel',
  'PATCH enqueue': 'tasks/1048577',
  'POST claim': `queues/q/claim claim ${lease}/complete ${lease}/fail ${lease}/release ${lease}/extend`,
  'GET read': `tasks/1048577 tasks queues queues/q queues/q/why queues/q/series queues/q/limits stats
    doctor archive leases workers maintenance series overview limits ../metrics`,
  'GET admin': 'keys audit-log',
  'POST admin': `keys ${key}/rotate tick queues/q/limits/reset`,
  'PUT admin': 'queues/q',
  'PATCH admin': key,
  'DELETE admin': `${key} tasks/1048577/payload`,
};
const scopes = Object.entries(routes).flatMap(([what, paths]) => {
  const [method, scope] = what.split(' ') as [string, Scope];
  return paths.split(/\s+/).map((path) => {
    const route = path === '../metrics' ? '/metrics' : `/v1/${path}`;
    return [`${method} ${route}`, scope] as const;
  });
});

const body = (route: string) => {
  if (route.startsWith('GET')) return {};
  if (route.startsWith('PATCH /v1/keys')) return { body: { name: 'k' } };
  if (route.startsWith('PATCH')) return { body: { priority: 1 } };
  if (route.endsWith('/tasks/cancel')) return { body: { ids: ['1048577'] } };
  if (route.endsWith('/v1/claim')) return { body: { queues: ['q'] } };
  return { body: route.endsWith('/keys') ? { name: 'k', scopes: ['read'] } : {} };
};

test.each(scopes)('%s needs the scope %s, and a key', async (route, scope) => {
  const send = (key: string | null) => tock.send(route, { ...body(route), key });
  const others = allScopes.filter((other) => other !== scope);
  expect((await send(await tock.makeKey(others))).body).toMatchObject({
    status: 403,
    type: '/errors/TK403',
    detail: expect.stringContaining(scope),
    field: 'Authorization',
  });
  const allowed = await send(await tock.makeKey([scope]));
  expect([200, 201, 404, 409]).toContain(allowed.status);

  const sent = tock.statements.length;
  const [none, odd] = [await send(null), await send("x' or 1=1 --")];
  expect(tock.statements.length).toBe(sent);
  for (const reply of [none, odd, await send('tock_00000000_0')]) {
    expect(reply).toMatchObject({ status: 401, body: { hint: expect.any(String) } });
    expect(reply.headers.get('www-authenticate')).toBe('Bearer');
  }
});

test('a key for one queue cannot use another queue, or its leases and tasks', async () => {
  const key = await tock.makeKey(allScopes, ['mine']);
  const [id] = await tock.add('theirs');
  const { lease } = await tock.claim('theirs');
  const routes = [
    'POST /v1/queues/theirs/tasks',
    'POST /v1/queues/theirs/claim',
    ...['complete', 'fail', 'release', 'extend'].map((verb) => `POST /v1/leases/${lease}/${verb}`),
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
  expect((await tock.task(id)).state).toBe('running');
  for (const route of ['POST /v1/queues/mine/tasks', 'POST /v1/queues/mine/claim']) {
    expect((await tock.send(route, { ...body(route), key })).status, route).toBeLessThan(300);
  }
});
