import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

test('a task is enqueued, claimed, completed and read', async () => {
  const enqueued = await tock.post('queues/walk/tasks', { payload: { n: 1 } });
  expect(enqueued).toMatchObject({ status: 201, body: { ids: [expect.stringMatching(/^\d+$/)] } });
  const [id] = enqueued.body.ids;
  const claimed = await tock.post('queues/walk/claim', { worker: 'w', limit: 5 });
  expect(claimed.status).toBe(200);
  expect(claimed.body).toMatchObject({
    lease: expect.any(String),
    leased_until: expect.any(String),
    tasks: [{ id, run_id: id, attempt: 1, priority: 5, tenant: null, payload: { n: 1 } }],
    retry_after_seconds: 0,
  });
  expect(await tock.task(id)).toMatchObject({ state: 'running', runs: [{ worker: 'w' }] });
  const completed = await tock.post(`leases/${claimed.body.lease}/complete`, {
    results: [{ id, result: { ok: true } }],
  });
  expect(completed).toMatchObject({ status: 200, body: { completed: 1, refused: [] } });
  expect(await tock.task(id)).toMatchObject({ id, state: 'done', result: { ok: true } });
  expect(await tock.send('GET /v1/tasks/1048577')).toMatchObject({
    status: 404,
    body: { type: '/errors/TK404', hint: expect.any(String) },
  });
});

test('numbers keep every digit from the request to the worker and to the result', async () => {
  const number = '12345678901234567890.10';
  await tock.send('POST /v1/queues/exact/tasks', { raw: `{"payload": {"n": ${number}}}` });
  const claimed = await tock.send('POST /v1/queues/exact/claim');
  expect(claimed.text).toContain(`{"n": ${number}}`);
  const [{ id }] = claimed.body.tasks;
  const raw = `{"results": [{"id": "${id}", "result": ${number}}]}`;
  await tock.send(`POST /v1/leases/${claimed.body.lease}/complete`, { raw });
  const looked = await tock.send(`GET /v1/tasks/${id}`);
  expect(looked.text).toMatch(new RegExp(`"result" ?: ?${number.replace('.', '\\.')}`));
});

test('the tasks of a batch have ids in their order, and a delayed one the time until which it waits', async () => {
  const run_at = '2030-01-31T09:00:00+01:00';
  const ids = await tock.add('later', { payload: 1, tenant: 't' }, { payload: 2, run_at });
  expect(await tock.task(ids[0])).toMatchObject({ payload: 1, tenant: 't', state: 'ready' });
  const second = await tock.task(ids[1]);
  expect(second).toMatchObject({ payload: 2, state: 'waiting' });
  expect(new Date(second.run_at)).toEqual(new Date(run_at));
});

test('options may be null, and a repeated key of JSON counts once', async () => {
  const raw = '{"payload": 1, "payload": 2, "priority": null, "tenant": null, "request_id": null}';
  expect(await tock.send('POST /v1/queues/nulls/tasks', { raw })).toMatchObject({ status: 201 });
  const claimed = await tock.claim('nulls', { worker: null });
  expect(claimed.tasks).toMatchObject([{ payload: 2, priority: 5 }]);
});

test('an enqueue repeated by its request id, in body or header, gives the same ids', async () => {
  const headers = { 'Idempotency-Key': 'once' };
  for (const [queue, body] of [
    ['again', { tasks: [{ payload: 1 }, { payload: 2 }] }],
    ['single', { payload: 1 }],
  ] as const) {
    const route = `queues/${queue}/tasks`;
    const first = await tock.post(route, { ...body, request_id: 'once' });
    const second = await tock.post(route, { ...body, request_id: 'once' });
    const third = await tock.send(`POST /v1/${route}`, { body, headers });
    expect([second.body, third.body]).toEqual([first.body, first.body]);
  }
});
