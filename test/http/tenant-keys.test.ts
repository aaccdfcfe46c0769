import { beforeAll, expect, test } from 'vitest';
import { fileService } from './file_service.ts';
import type { Reply } from './service.ts';

const tock = fileService();
let acme: string;
let evil: string;
let both: string;

const makeKey = async (tenants: string[], queues: string[] | null = null): Promise<string> => {
  const { rows } = await tock.owner.query(
    "select key from tock.create_key('t', '{enqueue,read}', p_queues => $1, p_tenants => $2)",
    [queues, tenants],
  );
  return rows[0].key;
};

beforeAll(async () => {
  acme = await makeKey(['acme']);
  evil = await makeKey(['evil']);
  both = await makeKey(['acme', 'umbrella']);
});

const as = (key: string, route: string, body?: unknown) =>
  tock.send(route, { key, ...(body !== undefined && { body }) });
const put = (key: string, task: object, queue = 'q') =>
  tock.post(`queues/${queue}/tasks`, task, key);
const idOf = (reply: Reply): string => {
  expect(reply).toMatchObject({ status: 201 });
  return reply.body.ids[0];
};
const unknown = '9007199254740993';

/** The status and text of an answer, in which the requested id is replaced, so that two answers can be compared. */
const withoutId = ({ status, text }: Reply, id: string) => ({
  status,
  text: text.replaceAll(id, 'ID'),
});

/** The requests of all routes that take a task's id. */
const byId = (id: string): [route: string, body?: object][] => [
  [`GET /v1/tasks/${id}`],
  [`GET /v1/tasks/${id}/children`],
  [`GET /v1/tasks/${id}/parents`],
  [`GET /v1/tasks/${id}/steps`],
  [`PATCH /v1/tasks/${id}`, { priority: 1 }],
  [`POST /v1/tasks/${id}/cancel`, {}],
  [`POST /v1/tasks/${id}/rerun`, {}],
  ['POST /v1/tasks/cancel', { ids: [id] }],
  ['POST /v1/tasks/rerun', { ids: [id] }],
  ['POST /v1/tasks/move', { ids: [id], queue: 'elsewhere' }],
  ['POST /v1/tasks/reprioritize', { ids: [id], priority: 1 }],
  ['POST /v1/queues/q/tasks', { depends_on: [id] }],
  ['POST /v1/queues/q/tasks', { parent: id }],
];

test('a key for one tenant may enqueue only for that tenant', async () => {
  expect(await tock.task(idOf(await put(acme, { payload: 1 })))).toMatchObject({ tenant: 'acme' });
  expect(await tock.task(idOf(await put(acme, { tenant: 'acme' })))).toMatchObject({
    tenant: 'acme',
  });
  const named = await put(acme, { tenant: 'evil' });
  expect(named).toMatchObject({ status: 403, body: { field: 'tenant' } });
  const batch = await put(acme, { tasks: [{}, { tenant: 'evil' }] });
  expect(batch).toMatchObject({ status: 403, body: { field: 'tasks[1].tenant' } });
  expect(await put(both, {})).toMatchObject({ status: 403, body: { field: 'tenant' } });
  expect(await tock.task(idOf(await put(acme, { payloads: [1] })))).toMatchObject({
    tenant: 'acme',
  });
  const payloads = await put(both, { payloads: [1] });
  expect(payloads).toMatchObject({ status: 403, body: { field: 'tasks[0].tenant' } });
  const id = idOf(await put(both, { tenant: 'umbrella' }));
  expect(await tock.task(id)).toMatchObject({ tenant: 'umbrella' });
});

test("for every call another tenant's task looks like an unknown task", async () => {
  const delayed = { delay_seconds: 600, payload: 'secret' };
  for (const [options, end] of [
    [delayed, false],
    [{ payload: 'secret' }, false],
    [{ payload: 'secret' }, true],
  ] as const) {
    const id = idOf(await put(evil, options));
    if (end) await as(evil, `POST /v1/tasks/${id}/cancel`, {});
    const before = await tock.task(id);
    const none = byId(unknown);
    for (const [n, [route, body]] of byId(id).entries()) {
      const [nowhere, nothing] = none[n] as [string, object?];
      const answer = withoutId(await as(acme, route, body), id);
      expect(answer, route).toEqual(withoutId(await as(acme, nowhere, nothing), unknown));
      expect(answer.text).not.toContain('secret');
    }
    expect(await tock.task(id)).toEqual(before);
  }
});

test("another tenant's task in a queue without the key looks like an unknown task too", async () => {
  const limited = await makeKey(['acme'], ['q']);
  const id = idOf(await put(evil, {}, 'theirs'));
  expect((await as(limited, `GET /v1/tasks/${id}`)).status).toBe(404);
  expect((await as(limited, `POST /v1/tasks/${id}/cancel`, {})).status).toBe(404);
  const own = idOf(await put(acme, {}, 'theirs'));
  expect((await as(limited, `GET /v1/tasks/${own}`)).status).toBe(403);
  expect((await put(limited, {}, 'theirs')).status).toBe(403);
});

test('a key limited to tenants may do all with its own tasks, also after they have waited', async () => {
  const id = idOf(await put(acme, { delay_seconds: 600, payload: 1 }));
  expect((await as(acme, `GET /v1/tasks/${id}`)).body).toMatchObject({ id, state: 'waiting' });
  expect((await as(acme, `PATCH /v1/tasks/${id}`, { priority: 1 })).status).toBe(200);
  await tock.owner.query("update tock.waiting set due_at = now() - interval '1 s'");
  await tock.owner.query('select tock.promote(p_sweep => true)');
  expect((await as(acme, `GET /v1/tasks/${id}`)).body).toMatchObject({ state: 'ready' });
  const moved = await as(acme, 'POST /v1/tasks/move', { ids: [id], queue: 'moved' });
  expect(moved.body.tasks).toMatchObject([{ id, changed: true }]);
  expect((await as(acme, `GET /v1/tasks/${id}`)).body).toMatchObject({ queue: 'moved' });
  const { lease } = await tock.claim('moved');
  await tock.post(`leases/${lease}/fail`, { fatal: true });
  const again = await as(acme, `POST /v1/tasks/${id}/rerun`, {});
  const rerun = await as(acme, `GET /v1/tasks/${again.body.rerun_id}`);
  expect(rerun.body).toMatchObject({ tenant: 'acme', rerun_of: id });
});

test("with many ids only the tenant's own tasks are changed and answered", async () => {
  const [own, other] = [idOf(await put(acme, {})), idOf(await put(evil, {}))];
  const cancelled = await as(acme, 'POST /v1/tasks/cancel', { ids: [own, other, unknown] });
  expect(cancelled.body.tasks).toEqual([{ id: own, state: 'cancelled', changed: true }]);
  expect((await tock.task(other)).state).toBe('ready');
});

test("a child of two tenants' parents lists only its own tenant's parents, and runs after its own", async () => {
  const [own, other] = [idOf(await put(acme, {})), idOf(await put(evil, {}))];
  const child = idOf(await put(acme, { depends_on: [own] }));
  const [mixed] = await tock.add('q', { tenant: 'acme', depends_on: [own, other] });
  for (const [id, count] of [
    [child, 1],
    [mixed, 2],
  ] as const) {
    const seen = (await as(acme, `GET /v1/tasks/${id}/parents`)).body.parents;
    expect(seen).toMatchObject([{ id: own }]);
    const all = (await tock.send(`GET /v1/tasks/${id}/parents`)).body.parents;
    expect(all).toHaveLength(count);
  }
  await tock.add('q', { tenant: 'evil', depends_on: [own] });
  const path = `GET /v1/tasks/${own}/children`;
  expect((await as(acme, path)).body.children).toMatchObject([{ id: child }, { id: mixed }]);
  expect((await tock.send(path)).body.children).toHaveLength(3);
});

test("lists and changes by filter concern only the key's tenant", async () => {
  for (const key of [acme, acme, evil]) await put(key, {}, 'list');
  const { body } = await as(acme, 'GET /v1/tasks?queue=list');
  expect(body.tasks).toMatchObject([{ tenant: 'acme' }, { tenant: 'acme' }]);
  expect(body.scanned).toBe(2);
  const named = await as(acme, 'GET /v1/tasks?queue=list&tenant=evil');
  expect(named).toMatchObject({ status: 403, body: { field: 'tenant' } });
  expect(await as(both, 'GET /v1/tasks?queue=list')).toMatchObject({ status: 403 });
  expect((await as(both, 'GET /v1/tasks?queue=list&tenant=acme')).body.tasks).toHaveLength(2);
  for (const verb of ['reprioritize', 'cancel']) {
    const options = verb === 'cancel' ? {} : { priority: 2 };
    const route = `POST /v1/queues/list/${verb}`;
    const foreign = await as(acme, route, { tenant: 'evil', ...options });
    expect(foreign, verb).toMatchObject({ status: 403, body: { field: 'tenant' } });
    const own = await as(acme, route, options);
    expect(own.body, verb).toMatchObject({ changed: 2, scanned: 2 });
  }
  expect((await tock.send('GET /v1/tasks?queue=list&state=ready')).body.tasks).toMatchObject([
    { tenant: 'evil', priority: 5 },
  ]);
});

test("a redrive reruns only the tenant's own dead tasks", async () => {
  for (const key of [acme, evil]) await put(key, {}, 'dead');
  const { lease } = await tock.claim('dead', { limit: 9 });
  await tock.post(`leases/${lease}/fail`, { fatal: true });
  const redriven = await as(acme, 'POST /v1/queues/dead/redrive', {});
  expect(redriven.body).toMatchObject({ redriven: 1 });
  expect((await tock.task(redriven.body.ids[0])).tenant).toBe('acme');
  const foreign = await as(acme, 'POST /v1/queues/dead/redrive', { tenant: 'evil' });
  expect(foreign).toMatchObject({ status: 403, body: { field: 'tenant' } });
});

test('tenants do not share request ids, unique keys and concurrency keys', async () => {
  const request = { payload: 1, request_id: 'r' };
  const [mine, theirs] = [idOf(await put(acme, request)), idOf(await put(evil, request))];
  expect(theirs).not.toBe(mine);
  expect(idOf(await put(acme, request))).toBe(mine);

  for (const on_conflict of ['keep', 'replace', 'debounce', 'rerun']) {
    const keyed = { unique_key: `k ${on_conflict}`, on_conflict };
    const first = idOf(await put(acme, keyed));
    const second = idOf(await put(evil, { ...keyed, payload: 2 }));
    expect(second, on_conflict).not.toBe(first);
    expect(await tock.task(first), on_conflict).toMatchObject({ payload: null, tenant: 'acme' });
    if (on_conflict === 'keep') expect(idOf(await put(acme, keyed))).toBe(first);
  }

  const limited = [acme, evil].map((key) => put(key, { concurrency_key: 'g' }, 'limited'));
  await Promise.all(limited);
  await put(acme, { concurrency_key: 'g' }, 'limited');
  const holders: string[] = [];
  for (let n = 0; n < 3; n++) {
    const { tasks } = await tock.claim('limited', { limit: 9 });
    holders.push(...tasks.map(({ tenant }: { tenant: string }) => tenant));
  }
  expect(holders.sort()).toEqual(['acme', 'evil']);
});

test("a tenant's name cannot be chosen so that its keys collide with another tenant's", async () => {
  const [odd, plain] = [await makeKey(['a/b']), await makeKey(['a'])];
  const id = idOf(await put(odd, { unique_key: 'c' }));
  expect(idOf(await put(plain, { unique_key: 'b/c' }))).not.toBe(id);
  expect(idOf(await put(plain, { unique_key: 'tenant:a~1b/c' }))).not.toBe(id);
});

test('tenants do not share the request ids of reruns', async () => {
  const request_id = 'again';
  const made: string[] = [];
  for (const key of [acme, evil]) {
    const id = idOf(await put(key, {}));
    await as(key, `POST /v1/tasks/${id}/cancel`, {});
    const first = await as(key, `POST /v1/tasks/${id}/rerun`, { request_id });
    const second = await as(key, `POST /v1/tasks/${id}/rerun`, { request_id });
    expect(second.body).toEqual(first.body);
    made.push(first.body.rerun_id);
  }
  expect(new Set(made).size).toBe(2);
});

test('a key for some tenants is refused by every route that concerns all tenants', async () => {
  const { body } = await tock.send('GET /openapi.json');
  const own = [
    'POST /v1/queues/{queue}/tasks',
    'GET /v1/key',
    'GET /v1/archive/tasks',
    'GET /v1/tasks',
    'GET /v1/tasks/{id}',
    'GET /v1/tasks/{id}/children',
    'GET /v1/tasks/{id}/parents',
    'GET /v1/tasks/{id}/steps',
    'PATCH /v1/tasks/{id}',
    'POST /v1/tasks/{id}/cancel',
    'POST /v1/tasks/{id}/rerun',
    'POST /v1/tasks/cancel',
    'POST /v1/tasks/rerun',
    'POST /v1/tasks/move',
    'POST /v1/tasks/reprioritize',
    'POST /v1/queues/{queue}/cancel',
    'POST /v1/queues/{queue}/reprioritize',
    'POST /v1/queues/{queue}/redrive',
  ];
  const open = ['GET /v1/health', 'GET /openapi.json', 'POST /v1/events/{token}'];
  const bodies: Record<string, object> = {
    'POST /v1/claim': { queues: ['q'] },
    'POST /v1/event-links': { event: 'e' },
    'POST /v1/events': { event: 'e' },
    'POST /v1/leases/{lease}/steps': { steps: [{ id: '1', name: 'a', result: 1 }] },
    'POST /v1/keys': { name: 'k', scopes: ['read'] },
    'PATCH /v1/keys/{prefix}': { name: 'k' },
    'PATCH /v1/queues/{queue}/concurrency-keys/{concurrency_key}': { paused: true },
    'POST /v1/queues/{queue}/claim-for-worker': { worker: 'w' },
    'POST /v1/pools/{pool}/assign': { task: 't' },
    'POST /v1/pools/{pool}/assign-all': { tasks: ['t'] },
    'POST /v1/pools/{pool}/tasks': { tasks: ['t'] },
    'POST /v1/pools/{pool}/take': { worker: 'w' },
    'POST /v1/pools/{pool}/unassign': { task: 't' },
    'POST /v1/queues/{queue}/bulk-changes': { change: 'cancel' },
    'PUT /v1/schedules/{schedule}': { queue: 'q', every_seconds: 60 },
  };
  const queries: Record<string, string> = {
    'GET /v1/next-fires': '?cron=* * * * *',
    'GET /v1/leases/{lease}/steps': '?id=1',
  };
  const values: Record<string, string> = {
    '{id}': '1048577',
    '{lease}': '00000000-0000-4000-8000-000000000000',
    '{prefix}': 'tock_00000000',
  };
  const routes = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method.toUpperCase()} ${path}`),
  );
  for (const route of routes.filter((candidate) => ![...own, ...open].includes(candidate))) {
    const query = queries[route] ?? '';
    const path = route.replace(/{\w+}/g, (name) => values[name] ?? 'q') + query;
    const defaultBody = route.startsWith('GET') || route.startsWith('DELETE') ? undefined : {};
    const refused = await as(acme, path, bodies[route] ?? defaultBody);
    const why = refused.text;
    // A Worker without a secret for pushes refuses these routes first.
    if (/TOCK_PUSH_SECRET/.test(why)) continue;
    // Another status means that the body was invalid: add a valid one to the list above.
    expect(refused.status, `${route}: ${why}`).toBe(403);
  }
});
