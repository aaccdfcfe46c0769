import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

const pipeline = ['fetch', 'parse', 'index'];

const add = (body: object, key = tock.key) => tock.post('queues/fetch/tasks', body, key);
const complete = (lease: string, body: object) => tock.post(`leases/${lease}/complete`, body);

test('a task passes through three stages, and shows them', async () => {
  const [id] = (await add({ payload: 1, pipeline })).body.ids;
  for (const [n, queue] of pipeline.entries()) {
    const { lease, tasks } = await tock.claim(queue);
    expect(tasks).toMatchObject([{ id, payload: n + 1, attempt: 1 }]);
    const done = await complete(lease, { results: [{ id, result: n + 2 }] });
    expect(done).toMatchObject({ status: 200, body: { completed: 1, refused: [] } });
  }
  expect(await tock.task(id)).toMatchObject({
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
  const { lease } = await tock.claim('fetch');
  await complete(lease, { results: [{ id, result: 'of parse' }] });
  const ended = (await add({ payload: 1, pipeline })).body.ids[0];
  await tock.send(`POST /v1/tasks/${ended}/cancel`, { body: {} });
  for (const task of [waits, id, ended]) {
    const before = await tock.task(task);
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
    expect(await tock.task(task)).toEqual(before);
  }
  const all = await tock.makeKey(['read'], pipeline);
  expect((await tock.send(`GET /v1/tasks/${id}`, { key: all })).body).toMatchObject({ id });
});
