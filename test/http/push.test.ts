import { expect, test } from 'vitest';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';
import { refusalReason } from '../../functions/push/guard.ts';
import { fileService } from './file_service.ts';

const tock = fileService();

const master = { TOCK_PUSH_SECRET: 'm'.repeat(32) };

/** Sends a request to a Worker with these bindings. */
async function send(route: string, body: object | null, env: Bindings = master, key = tock.key) {
  const [method = '', path = ''] = route.split(' ');
  const app = createApp(tock.connect);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method, headers, body: body && JSON.stringify(body) };
  const response = await app.request(path, init, env);
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  return { status: response.status, body: (await response.json()) as any };
}

test("PUT sets a queue's push, and GET shows it", async () => {
  const push = { url: 'https://example.com/hook', timeout_seconds: 30 };
  expect((await send('PUT /v1/queues/mail', { push })).body.push).toEqual(push);
  expect((await send('GET /v1/queues/mail', null)).body.push).toEqual(push);
  expect((await send('PUT /v1/queues/mail', { push: null })).body.push).toBeNull();
});

test('a Worker without a push secret refuses a queue with push', async () => {
  const refused = await send('PUT /v1/queues/unsigned', { push: {} }, {});
  expect(refused).toMatchObject({ status: 422, body: { field: 'push' } });
  expect((await send('PUT /v1/queues/unsigned', { push: null }, {})).status).toBe(200);
});

test('a private URL is refused unless TOCK_PUSH_PRIVATE allows it', async () => {
  const push = { url: 'http://127.0.0.1:9/' };
  const refused = await send('PUT /v1/queues/near', { push });
  expect(refused).toMatchObject({ status: 422, body: { field: 'push.url' } });
  expect((await send('GET /v1/queues/near', null)).status).toBe(404);
  const local = { ...master, TOCK_PUSH_PRIVATE: 'allow' };
  expect((await send('PUT /v1/queues/near', { push }, local)).status).toBe(200);
});

const lease = '00000000-0000-4000-8000-000000000000';
const good = 'https://example.com/hook';
const tasks = 'POST /v1/queues/judged/tasks';
const timed = { queue: 'judged', every_seconds: 60 };

test.each<[string, string, (url: string) => object]>([
  ['PUT /v1/queues/judged', 'push.url', (url) => ({ push: { url } })],
  ['PUT /v1/queues/judged', 'dead_webhook.url', (url) => ({ dead_webhook: { url } })],
  [tasks, 'push_url', (url) => ({ push_url: url })],
  [tasks, 'tasks[1].push_url', (url) => ({ tasks: [{ push_url: good }, { push_url: url }] })],
  ['PUT /v1/schedules/s', 'options.push_url', (push_url) => ({ ...timed, options: { push_url } })],
  [
    `POST /v1/leases/${lease}/complete`,
    'results[0].spawn.tasks[0].push_url',
    (push_url) => ({ results: [{ id: '1048577', spawn: { tasks: [{ push_url }] } }] }),
  ],
])('%s checks the URL in %s as a delivery does', async (route, field, body) => {
  for (const url of [
    'http://example.com/',
    'https://169.254.169.254/',
    'https://0x7f.1/',
    'https://[::ffff:10.0.0.1]/',
  ]) {
    const refused = await send(route, body(url));
    expect(refused, url).toMatchObject({ status: 422, body: { field } });
    expect(refused.body.detail).toContain(refusalReason(url, {}));
    const allowed = await send(route, body(url), { ...master, TOCK_PUSH_PRIVATE: 'allow' });
    expect(allowed.body.detail ?? '', url).not.toContain(refusalReason(url, {}));
  }
});

test("an admin sees a queue's secret and rotates it, and the previous one is shown too", async () => {
  await send('PUT /v1/queues/signed', { push: { url: 'https://example.com/' } });
  const first = await send('GET /v1/queues/signed/push-secret', null);
  expect(first.body).toEqual({
    queue: 'signed',
    generation: 1,
    secret: expect.stringMatching(/^whsec_/),
    secrets: [first.body.secret],
    previous: [],
    previous_until: null,
  });
  const rotated = await send('POST /v1/queues/signed/push-secret/rotate', {});
  expect(rotated.body).toMatchObject({ generation: 2, previous: [first.body.secret] });
  const left = Date.parse(rotated.body.previous_until) - Date.now();
  expect(Math.abs(left / 1000 - 86_400)).toBeLessThan(10);
  const again = await send('POST /v1/queues/signed/push-secret/rotate', { overlap_seconds: 60 });
  expect(again.body).toEqual(rotated.body);
  const now = await send('POST /v1/queues/signed/push-secret/rotate', { overlap_seconds: 0 });
  expect(now.body).toMatchObject({ generation: 3, previous: [], previous_until: null });
  expect((await send('GET /v1/queues/signed/push-secret', null)).body).toEqual(now.body);
});

test('no secret is stored in the database, and only an admin sees it', async () => {
  await send('PUT /v1/queues/kept', { push: {} });
  const { body } = await send('GET /v1/queues/kept/push-secret', null);
  const { rows } = await tock.owner.query('select q::text as row from tock.queues q');
  const kept = rows.map(({ row }) => row).join();
  for (const secret of [body.secret, master.TOCK_PUSH_SECRET]) expect(kept).not.toContain(secret);
  const key = await tock.makeKey(['enqueue', 'claim', 'read']);
  expect((await send('GET /v1/queues/kept/push-secret', null, master, key)).status).toBe(403);
});

test('a Worker without a push secret neither shows nor rotates secrets', async () => {
  await send('PUT /v1/queues/none', { push: {} });
  for (const route of [
    'GET /v1/queues/none/push-secret',
    'POST /v1/queues/none/push-secret/rotate',
  ]) {
    const { status, body } = await send(route, route.startsWith('POST') ? {} : null, {});
    expect([status, body.detail]).toEqual([503, expect.stringContaining('TOCK_PUSH_SECRET')]);
  }
  const shown = await send('GET /v1/queues/none/push-secret', null);
  expect(shown.body.generation).toBe(1);
  expect((await send('GET /v1/queues/unknown/push-secret', null)).status).toBe(404);
});

test("an enqueue asks for the queue's push in its statement, only in a Worker with a secret", async () => {
  const answerOf = async (env: Bindings) => {
    tock.statements.length = 0;
    await send('POST /v1/queues/plain/tasks', { payload: 1 }, env);
    return tock.statements.map(({ text }) => text.includes('has_push'));
  };
  expect([await answerOf({}), await answerOf(master)]).toEqual([[false], [true]]);
});

test("every form of claim returns a task's headers, and so does the task", async () => {
  const headers = { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' };
  const tasks = [{ payload: 1, headers }, { payload: 2 }, { payload: 3, headers: { a: 'b' } }];
  const [id] = await tock.add('h', ...tasks);
  expect((await tock.task(id)).options).toEqual({ headers });
  const claimed = [...(await tock.claim('h')).tasks, ...(await tock.claim('h')).tasks];
  const any = await tock.post('claim', { queues: ['h', 'other'] });
  claimed.push(...any.body.leases[0].tasks);
  expect(claimed.map((task) => [task.payload, task.headers]).sort()).toEqual([
    [1, headers],
    [2, null],
    [3, { a: 'b' }],
  ]);
});
