import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const post = (path: string, body: object, key?: string) =>
  tock.send(`POST /v1/${path}`, { body, ...(key && { key }) });
const claim = async (queue: string) => (await post(`queues/${queue}/claim`, {})).body;

test('tasks of one call run in the order they name, and the last is given all results', async () => {
  const tasks = [
    { name: 'a', payload: 1 },
    { name: 'b', payload: 2, after: ['a'] },
    { payload: 'sum', after: ['a', 'b'], gather: true },
  ];
  const { ids } = (await post('queues/flow/tasks', { tasks })).body;
  for (const n of [0, 1]) {
    const { lease, tasks } = await claim('flow');
    expect(tasks).toMatchObject([{ id: ids[n], payload: n + 1 }]);
    await post(`leases/${lease}/complete`, { results: [{ id: ids[n], result: n * 10 }] });
  }
  const all = [
    { id: ids[0], name: 'a', state: 'done', result: 0 },
    { id: ids[1], name: 'b', state: 'done', result: 10 },
  ];
  expect((await claim('flow')).tasks).toMatchObject([
    { id: ids[2], payload: { payload: 'sum', parents: all } },
  ]);
  const parents = `GET /v1/tasks/${ids[2]}/parents`;
  expect((await tock.send(parents)).body).toEqual({
    parents: all.map((one, n) => ({ n: n + 1, ...one })),
  });
  expect((await tock.send(`${parents}?after=1&limit=5`)).body.parents).toMatchObject([{ n: 2 }]);
  expect((await tock.send(`GET /v1/tasks/${ids[0]}/parents`)).body).toEqual({ parents: [] });
  expect((await tock.send('GET /v1/tasks/999999999/parents')).status).toBe(404);
});

for (const [task, field, detail] of [
  [{ after: 'a' }, 'after', 'an array of up to 10,000 ids of tasks'],
  [{ after: [{}] }, 'after[0]', 'an id of a task, the name of one in this call, or *'],
  [{ after: ['a'] }, 'after[0]', 'no task of this call is named a'],
  [{ name: '12' }, 'name', 'not only digits'],
  [{ after: [1], on_parent_failure: 'no' }, 'on_parent_failure', 'cancel or run or wait'],
] as const) {
  test(`refused: ${JSON.stringify(task)}`, async () => {
    const { status, body } = await post('queues/refused/tasks', task);
    expect(status).toBe(422);
    expect(body).toMatchObject({ field });
    expect(body.detail).toContain(detail);
  });
}

test('a key for some queues names no parents of others', async () => {
  const { ids } = (await post('queues/secret/tasks', { payload: 1 })).body;
  const key = await tock.makeKey(['enqueue'], ['open']);
  const task = { after: ids, gather: true };
  expect((await post('queues/open/tasks', task, key)).body).toMatchObject({
    status: 403,
    field: 'after',
  });
  expect((await post('queues/open/tasks', { tasks: [{}, task] }, key)).status).toBe(403);
  expect((await post('queues/open/tasks', task)).status).toBe(201);
});
