import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const pipeline = ['fetch', 'parse', 'index'];

const add = (body: object, key = tock.key) =>
  tock.send('POST /v1/queues/fetch/tasks', { body, key });
const claim = async (queue: string) =>
  (await tock.send(`POST /v1/queues/${queue}/claim`, { body: {} })).body;
const complete = (lease: string, body: object) =>
  tock.send(`POST /v1/leases/${lease}/complete`, { body });
const look = async (id: string) => (await tock.send(`GET /v1/tasks/${id}`)).body;

test('a task passes through three stages, and shows them', async () => {
  const [id] = (await add({ payload: 1, pipeline })).body.ids;
  for (const [n, queue] of pipeline.entries()) {
    const { lease, tasks } = await claim(queue);
    expect(tasks).toMatchObject([{ id, payload: n + 1, attempt: 1 }]);
    const done = await complete(lease, { results: [{ id, result: n + 2 }] });
    expect(done).toMatchObject({ status: 200, body: { completed: 1, refused: [] } });
  }
  expect(await look(id)).toMatchObject({
    id,
    queue: 'index',
    state: 'done',
    result: 4,
    options: { pipeline },
    runs: [
      { queue: 'fetch', state: 'done', result: 2 },
      { queue: 'parse', state: 'done', result: 3 },
      { queue: 'index', state: 'done', result: 4 },
    ],
  });
});

test('a result names the next stage or ends the task, and a whole lease continues in the next stage', async () => {
  const [jumps, ends, goes] = (await add({ tasks: [{ pipeline }, { pipeline }, { pipeline }] }))
    .body.ids;
  const lease = (await tock.send('POST /v1/queues/fetch/claim', { body: { limit: 3 } })).body.lease;
  const results = [
    { id: jumps, stage: 'index' },
    { id: ends, stage: null },
  ];
  expect((await complete(lease, { results })).body).toEqual({ completed: 2, refused: [] });
  expect((await complete(lease, {})).body).toEqual({ completed: 3, refused: [] });
  expect(await look(jumps)).toMatchObject({ queue: 'index', state: 'ready' });
  expect(await look(ends)).toMatchObject({ queue: 'fetch', state: 'done' });
  expect(await look(goes)).toMatchObject({ queue: 'parse', state: 'ready' });
});

test.each([
  [{ pipeline: ['fetch'] }, 'pipeline'],
  [{ pipeline: ['fetch', 'fetch'] }, 'pipeline'],
  [{ pipeline: ['parse', 'index'] }, 'pipeline'],
  [{ tasks: [{}, { pipeline: ['fetch', 'a b'] }] }, 'tasks[1].pipeline[1]'],
])('an invalid pipeline is refused: %j', async (body, field) => {
  expect(await add(body)).toMatchObject({ status: 422, body: { field } });
});

test("a stage that is not in the task's pipeline is refused by name", async () => {
  const [id] = (await add({ pipeline })).body.ids;
  const { lease } = await claim('fetch');
  expect(await complete(lease, { results: [{ id, stage: 'mail' }] })).toMatchObject({
    status: 422,
    body: { field: 'results[0].stage', hint: expect.stringContaining('fetch, parse, index') },
  });
  expect(await complete(lease, { results: [{ id, stage: 7 }] })).toMatchObject({ status: 422 });
  expect(await complete(lease, {})).toMatchObject({ status: 200 });
});

test('a key needs the queues of all stages to enqueue a pipeline', async () => {
  const key = await tock.makeKey(['enqueue'], ['fetch', 'parse']);
  expect(await add({ pipeline: ['fetch', 'parse'] }, key)).toMatchObject({ status: 201 });
  for (const body of [{ pipeline }, { tasks: [{}, { pipeline }] }]) {
    expect(await add(body, key)).toMatchObject({ status: 403 });
  }
});

test('a key without all stages cannot read, change, complete, rerun or erase a task of the pipeline', async () => {
  const key = await tock.makeKey(['enqueue', 'read', 'admin'], ['fetch']);
  const own = (await add({ payload: 1 }, key)).body.ids[0];
  expect(await tock.send(`GET /v1/tasks/${own}`, { key })).toMatchObject({ status: 200 });
  await tock.send(`POST /v1/tasks/${own}/cancel`, { key, body: {} });

  const waits = (await add({ payload: 1, pipeline, delay_seconds: 600 })).body.ids[0];
  const id = (await add({ payload: 1, pipeline })).body.ids[0];
  const { lease } = await claim('fetch');
  await complete(lease, { results: [{ id, result: 'of parse' }] });
  const ended = (await add({ payload: 1, pipeline })).body.ids[0];
  await tock.send(`POST /v1/tasks/${ended}/cancel`, { body: {} });
  for (const task of [waits, id, ended]) {
    const before = await look(task);
    for (const [route, body] of [
      [`GET /v1/tasks/${task}`],
      [`GET /v1/tasks/${task}/parents`],
      [`PATCH /v1/tasks/${task}`, { payload: 'theirs' }],
      [`POST /v1/tasks/${task}/cancel`, {}],
      [`POST /v1/tasks/${task}/rerun`, {}],
      ['POST /v1/tasks/move', { ids: [task], queue: 'fetch' }],
      [`DELETE /v1/tasks/${task}/payload`],
    ] as const) {
      const refused = await tock.send(route, { key, ...(body && { body }) });
      expect(refused, route).toMatchObject({
        status: 403,
        body: { hint: expect.stringMatching(/for: fetch$/) },
      });
    }
    expect(await look(task)).toEqual(before);
  }
  const all = await tock.makeKey(['read'], pipeline);
  expect((await tock.send(`GET /v1/tasks/${id}`, { key: all })).body).toMatchObject({ id });
});
