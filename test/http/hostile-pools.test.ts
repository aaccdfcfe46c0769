import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

test.each([
  ['PUT /v1/pools/p/workers/a%00b', {}, 'worker'],
  ['PUT /v1/pools/p/workers/a%ED%A0%80b', {}, 'worker'],
  ['POST /v1/pools/p/take', { worker: 'a\ud800' }, 'worker'],
  ['POST /v1/pools/p/assign', { task: '\udc00' }, 'task'],
  ['POST /v1/pools/p/tasks', { tasks: ['ok', 'a\0b'] }, 'tasks[1]'],
  ['POST /v1/pools/p/tasks', { tasks: ['ok', '\ud800'] }, 'tasks[1]'],
  ['POST /v1/pools/p/tasks', { tasks: ['ok', null] }, 'tasks[1]'],
  ['POST /v1/pools/p/tasks', { tasks: ['ok', ''] }, 'tasks[1]'],
  ['POST /v1/pools/p/tasks', { tasks: ['ok', ['x']] }, 'tasks[1]'],
  ['POST /v1/pools/p/tasks', { tasks: 'ok' }, 'tasks'],
  ['POST /v1/pools/p/tasks', { tasks: Array.from({ length: 10001 }, (_, n) => `t${n}`) }, 'tasks'],
  ['POST /v1/pools/p/assign-all', { tasks: ['ok', 'x'.repeat(201)] }, 'tasks[1]'],
  ['POST /v1/pools/p/assign-all', { tasks: ['ok'], lease_seconds: 1.5 }, 'lease_seconds'],
  ['POST /v1/pools/p/assign', { task: 't', wait: 'yes' }, 'wait'],
  ['POST /v1/pools/p/assign', { task: 't', wait: null }, 'wait'],
  ['POST /v1/pools/p/unassign', { task: 't', fence: '0' }, 'fence'],
  ['POST /v1/pools/p/unassign', { task: 't', fence: '-1' }, 'fence'],
  ['GET /v1/pools/p?after=', undefined, 'after'],
  ['GET /v1/pools/p?worker=a%00', undefined, 'worker'],
  ['GET /v1/pools/p?waiting=1', undefined, 'waiting'],
  ['GET /v1/pools/%00', undefined, 'pool'],
  ['POST /v1/queues/q/claim-own', { worker: null }, 'worker'],
  ['POST /v1/queues/q/claim-own', {}, 'worker'],
  ['POST /v1/queues/q/claim-own', { worker: 'a\0' }, 'worker'],
  ['POST /v1/queues/q/claim-own', { worker: 'a', limit: 2 }, 'limit'],
  ['POST /v1/queues/q/claim-own', { worker: 'a', lease_seconds: 86401 }, 'lease_seconds'],
] as const)('%s is refused (%#)', async (route, body, field) => {
  const refused = await tock.send(route, { body });
  const { rowCount } = await tock.owner.query("delete from tock.places where pool = 'p'");
  expect([refused.status, refused.body.field, rowCount, refused.text]).toEqual([
    422,
    field,
    0,
    refused.text,
  ]);
});

test('a name of 150 characters beyond the first plane is one of 150', async () => {
  const task = '😀'.repeat(150);
  const sent = await tock.send('POST /v1/pools/wide/tasks', { body: { tasks: [task] } });
  expect(sent).toMatchObject({ status: 200, body: { added: 1 } });
});

test('a key for one queue and some scopes reaches no other pool', async () => {
  await tock.send('POST /v1/pools/secret/tasks', { body: { tasks: ['s'] } });
  await tock.send('PUT /v1/pools/secret/workers/w', { body: {} });
  const key = await tock.makeKey(['claim', 'enqueue', 'read'], ['mine']);
  for (const [route, body] of [
    ['GET /v1/pools/secret', undefined],
    ['GET /v1/pools/secret?task=s', undefined],
    ['GET /v1/pools', undefined],
    ['PUT /v1/pools/secret/workers/w', {}],
    ['DELETE /v1/pools/secret/workers/w', undefined],
    ['POST /v1/pools/secret/assign', { task: 's' }],
    ['POST /v1/pools/secret/assign-all', { tasks: ['s'] }],
    ['POST /v1/pools/secret/tasks', { tasks: ['s2'] }],
    ['POST /v1/pools/secret/take', { worker: 'x' }],
    ['POST /v1/pools/secret/unassign', { task: 's' }],
    ['POST /v1/queues/secret/claim-own', { worker: 'x' }],
  ] as const) {
    expect([route, (await tock.send(route, { key, body })).status]).toEqual([route, 403]);
  }
  const producer = await tock.makeKey(['enqueue']);
  for (const [route, body] of [
    ['PUT /v1/pools/secret/workers/w', {}],
    ['DELETE /v1/pools/secret/workers/w', undefined],
    ['POST /v1/pools/secret/take', { worker: 'x' }],
    ['POST /v1/pools/secret/unassign', { task: 's' }],
    ['GET /v1/pools/secret', undefined],
    ['POST /v1/queues/secret/claim-own', { worker: 'x' }],
  ] as const) {
    expect([route, (await tock.send(route, { key: producer, body })).status]).toEqual([route, 403]);
  }
  const places = await tock.owner.query("select from tock.places where pool = 'secret'");
  expect(places.rowCount).toBe(2);
});
