import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

test('a task is enqueued, claimed, completed and read', async () => {
  const enqueued = await tock.send('POST /v1/queues/walk/tasks', { body: { payload: { n: 1 } } });
  expect(enqueued).toMatchObject({ status: 201, body: { ids: [expect.stringMatching(/^\d+$/)] } });
  const [id] = enqueued.body.ids;

  const claimed = await tock.send('POST /v1/queues/walk/claim', {
    body: { worker: 'w', limit: 5 },
  });
  expect(claimed.status).toBe(200);
  expect(claimed.body).toMatchObject({
    lease: expect.any(String),
    leased_until: expect.any(String),
    tasks: [{ id, run_id: id, attempt: 1, priority: 5, tenant: null, payload: { n: 1 } }],
    retry_after_seconds: 0,
  });
  const running = await tock.send(`GET /v1/tasks/${id}`);
  expect(running.body).toMatchObject({ state: 'running', runs: [{ worker: 'w' }] });

  const completed = await tock.send(`POST /v1/leases/${claimed.body.lease}/complete`, {
    body: { results: [{ id, result: { ok: true } }] },
  });
  expect(completed).toMatchObject({ status: 200, body: { completed: 1, refused: [] } });
  const done = await tock.send(`GET /v1/tasks/${id}`);
  expect(done).toMatchObject({ status: 200, body: { id, state: 'done', result: { ok: true } } });
});

test('all tasks of a batch are enqueued, and the ids are in their order', async () => {
  const tasks = Array.from({ length: 1000 }, (_, n) => ({ payload: n, tenant: `t${n % 7}` }));
  const { status, body } = await tock.send('POST /v1/queues/batch/tasks', { body: { tasks } });
  expect(status).toBe(201);
  const looked = await tock.send(`GET /v1/tasks/${body.ids[617]}`);
  expect(looked.body).toMatchObject({ payload: 617, tenant: `t${617 % 7}`, state: 'ready' });
});

test('numbers keep every digit from the request to the worker and to the result', async () => {
  const number = '12345678901234567890.10';
  await tock.send('POST /v1/queues/exact/tasks', { raw: `{"payload": {"n": ${number}}}` });
  const claimed = await tock.send('POST /v1/queues/exact/claim');
  expect(claimed.text).toContain(`{"n": ${number}}`);
  const [{ id }] = claimed.body.tasks;
  await tock.send(`POST /v1/leases/${claimed.body.lease}/complete`, {
    raw: `{"results": [{"id": "${id}", "result": ${number}}]}`,
  });
  const looked = await tock.send(`GET /v1/tasks/${id}`);
  expect(looked.text).toMatch(new RegExp(`"result" ?: ?${number.replace('.', '\\.')}`));
});

test('text in a payload stays unchanged, including escapes and emoji', async () => {
  const payload = { 'ключ "1"': '\\u0000 \u0001 \n " \\ 😀 é', __proto__x: [[], {}, null, true] };
  await tock.send('POST /v1/queues/text/tasks', { body: { payload } });
  const claimed = await tock.send('POST /v1/queues/text/claim');
  expect(claimed.body.tasks[0].payload).toEqual(payload);
});

test('a delayed task waits, and has the time until which it waits', async () => {
  const run_at = '2030-01-31T09:00:00+01:00';
  const { body } = await tock.send('POST /v1/queues/later/tasks', {
    body: {
      tasks: [
        { payload: 1, delay_seconds: 60 },
        { payload: 2, run_at },
      ],
    },
  });
  const second = await tock.send(`GET /v1/tasks/${body.ids[1]}`);
  expect(second.body.state).toBe('waiting');
  expect(new Date(second.body.run_at)).toEqual(new Date(run_at));
});

test('options may be null, and a repeated key of JSON counts once', async () => {
  const raw = '{"payload": 1, "payload": 2, "priority": null, "tenant": null, "request_id": null}';
  expect(await tock.send('POST /v1/queues/nulls/tasks', { raw })).toMatchObject({ status: 201 });
  const claimed = await tock.send('POST /v1/queues/nulls/claim', { body: { worker: null } });
  expect(claimed.body.tasks).toMatchObject([{ payload: 2, priority: 5 }]);
});

test('an enqueue repeated by its request id, in body or header, gives the same ids', async () => {
  const body = { tasks: [{ payload: 1 }, { payload: 2 }], request_id: 'once' };
  const first = await tock.send('POST /v1/queues/again/tasks', { body });
  const second = await tock.send('POST /v1/queues/again/tasks', { body });
  const third = await tock.send('POST /v1/queues/again/tasks', {
    body: { tasks: body.tasks },
    headers: { 'Idempotency-Key': 'once' },
  });
  expect(second.body).toEqual(first.body);
  expect(third.body).toEqual(first.body);
  const single = { body: { payload: 1 }, headers: { 'Idempotency-Key': 'single' } };
  const answer = await tock.send('POST /v1/queues/again/tasks', single);
  expect((await tock.send('POST /v1/queues/again/tasks', single)).body).toEqual(answer.body);
});

test('an unknown task is a 404', async () => {
  expect(await tock.send('GET /v1/tasks/1048577')).toMatchObject({
    status: 404,
    body: { type: '/errors/TK404', hint: expect.any(String) },
  });
});
