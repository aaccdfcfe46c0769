import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const claim = (queue: string, body: object = {}, options: object = {}) =>
  tock.send(`POST /v1/queues/${queue}/claim`, { body, ...options });

async function claimed(queue: string, tasks: object[]) {
  await tock.send(`POST /v1/queues/${queue}/tasks`, { body: { tasks } });
  return (await claim(queue)).body;
}

test('a claim ends leases first, in one statement', async () => {
  const { lease, tasks } = await claimed('one', [{ payload: 1 }, { payload: 2 }]);
  const from = tock.statements.length;
  const text = `{"ends": [{"lease": "${lease}", "results": [{"id": "${tasks[0].id}", "result": 12345678901234567890}]}]}`;
  const next = await claim('one', undefined, { raw: text });
  expect(tock.statements.length - from).toBe(1);
  expect(next.body).toMatchObject({
    state: 'found',
    tasks: [{ payload: 2 }],
    ended: [{ lease, completed: 1, failed: 0, dead: 0, refused: [], lost: false }],
  });
  const result = await tock.owner.query('select result::text from tock.task($1)', [tasks[0].id]);
  expect(result.rows).toEqual([{ result: '12345678901234567890' }]);
});

test('a claim without ends says nothing of them', async () => {
  const { ended } = (await claim('none')).body;
  expect(ended).toBe(undefined);
});

test('a waiting claim ends its leases at once, and answers with what it ended', async () => {
  const { lease, tasks } = await claimed('wait', [{ payload: 1 }]);
  const waiting = claim('wait', { wait_seconds: 30, ends: [{ lease }] });
  await expect
    .poll(async () => (await tock.send(`GET /v1/tasks/${tasks[0].id}`)).body.state)
    .toBe('done');
  await tock.send('POST /v1/queues/wait/tasks', { body: { payload: 'late' } });
  expect((await waiting).body).toMatchObject({
    tasks: [{ payload: 'late' }],
    ended: [{ lease, completed: 1 }],
  });
});

test('a key for another queue ends nothing and claims nothing', async () => {
  const { lease, tasks } = await claimed('mine', [{ payload: 1 }]);
  await tock.send('POST /v1/queues/other/tasks', { body: { payload: 1 } });
  const key = await tock.makeKey(['claim'], ['other']);
  const foreign = await claim('other', { ends: [{ lease }] }, { key });
  expect(foreign).toMatchObject({ status: 403 });
  expect((await tock.send(`GET /v1/tasks/${tasks[0].id}`)).body.state).toBe('running');
  expect((await claim('other', {}, { key })).body.tasks).toHaveLength(1);
});

test('a key that may not enqueue adds no tasks by a completion in a claim', async () => {
  const { lease, tasks } = await claimed('spawns', [{ payload: 1 }]);
  const key = await tock.makeKey(['claim']);
  const spawn = { tasks: [{ payload: 'child' }] };
  const answer = await claim(
    'spawns',
    { ends: [{ lease, results: [{ id: tasks[0].id, spawn }] }] },
    { key },
  );
  expect(answer).toMatchObject({ status: 403 });
  expect((await tock.send(`GET /v1/tasks/${tasks[0].id}`)).body.state).toBe('running');
});

test.each([
  ['ends[0].lease', [{ lease: 'x' }]],
  ['ends[0].results[0].id', [{ lease: '{lease}', results: [{ id: 'x' }] }]],
  ['ends[0].failures', [{ lease: '{lease}', failures: [] }]],
  ['ends', []],
])('a claim with a wrong %s is refused', async (field, ends) => {
  const { lease, tasks } = await claimed('wrong', [{ payload: 1 }]);
  const body = JSON.parse(JSON.stringify({ ends }).replaceAll('{lease}', lease));
  expect(await claim('wrong', body)).toMatchObject({ status: 422, body: { field } });
  expect((await tock.send(`GET /v1/tasks/${tasks[0].id}`)).body.state).toBe('running');
});
