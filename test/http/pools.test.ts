import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const call = async (route: string, body?: object) => (await tock.send(route, { body })).body;

test('a leader is elected, found, and replaced when it dies', async () => {
  const pool = '/v1/pools/shard-7';
  for (const workerName of ['x/1', 'y', 'z']) {
    const joined = await call(`PUT ${pool}/workers/${encodeURIComponent(workerName)}`, {
      lease_seconds: 10,
    });
    expect(joined).toMatchObject({ state: 'free', task: null, fencing_token: null });
  }
  const assign = () => call(`POST ${pool}/assign`, { task: 'leader' });
  const answers = await Promise.all([assign(), assign(), assign()]);
  const states = answers.map(({ state }) => state);
  expect(states.sort()).toEqual(['assigned', 'held', 'held']);
  const [{ worker, fencing_token }] = answers;
  expect(worker).toBe('x/1');
  const seen = await call(`GET ${pool}?task=leader`);
  expect(seen.members).toMatchObject([{ worker, task: 'leader', state: 'held', fencing_token }]);
  const beat = () => call(`PUT ${pool}/workers/x%2F1`, { fencing_token, lease_seconds: 10 });
  expect(await beat()).toMatchObject({ state: 'held', task: 'leader', fencing_token });
  await tock.owner.query(
    "update tock.pool_members set leased_until = now() - interval '1 second' where worker = 'x/1'",
  );
  const next = await assign();
  expect(next).toMatchObject({ state: 'assigned', worker: 'y' });
  expect(Number(next.fencing_token)).toBeGreaterThan(Number(fencing_token));
  expect(await beat()).toEqual({
    state: 'lost',
    task: null,
    fencing_token: null,
    leased_until: null,
  });
  expect((await call(`GET ${pool}`)).members).toMatchObject([
    { worker: 'y', task: 'leader', state: 'held' },
    { worker: 'z', task: null, state: 'free', fencing_token: null },
  ]);
});

test('tasks are added, taken, unassigned and ended', async () => {
  const pool = '/v1/pools/taking';
  expect(await call(`POST ${pool}/tasks`, { tasks: ['a', 'b'] })).toEqual({ added: 2 });
  const take = (worker: string) => call(`POST ${pool}/take`, { worker });
  const first = await take('w');
  expect(first).toMatchObject({ state: 'taken', task: 'a' });
  expect(await take('w')).toMatchObject({
    state: 'held',
    task: 'a',
    fencing_token: first.fencing_token,
  });
  expect(await take('v')).toMatchObject({ state: 'taken', task: 'b' });
  expect(await take('u')).toMatchObject({ state: 'empty', task: null, leased_until: null });
  const unassign = (body: object) => tock.send(`POST ${pool}/unassign`, { body });
  const another = await unassign({ task: 'b', fencing_token: first.fencing_token });
  expect(another).toMatchObject({ status: 200, body: { unassigned: false } });
  for (const unassigned of [true, false]) {
    const back = await unassign({ task: 'a', fencing_token: first.fencing_token, again: true });
    expect(back).toMatchObject({ status: 200, body: { unassigned } });
  }
  expect(await unassign({ task: 'never' })).toMatchObject({ status: 409 });
  expect((await call(`GET ${pool}?waiting=true`)).members).toMatchObject([
    { worker: null, task: 'a', state: 'waiting', leased_until: null },
  ]);
  expect(await call('GET /v1/pools')).toMatchObject({
    pools: [{ pool: 'shard-7' }, { pool: 'taking', free: 0, held: 1, waiting: 1 }],
  });
  const leave = () => tock.send(`DELETE ${pool}/workers/v`);
  expect(await leave()).toMatchObject({ status: 200, body: { left: true } });
  expect(await leave()).toMatchObject({ status: 404 });
});

test('many tasks are assigned in one call', async () => {
  for (const worker of ['a', 'b']) await call(`PUT /v1/pools/many/workers/${worker}`, {});
  const { tasks } = await call('POST /v1/pools/many/assign-all', { tasks: ['z', 'y', 'x'] });
  expect(tasks).toMatchObject([
    { task: 'z', state: 'assigned', worker: 'a', fencing_token: expect.stringMatching(/^\d+$/) },
    { task: 'y', state: 'assigned', worker: 'b', leased_until: expect.any(String) },
    { task: 'x', state: 'none', worker: null, fencing_token: null, leased_until: null },
  ]);
});

test('claim-for-worker leases one task of a queue at a time', async () => {
  await call('POST /v1/queues/own/tasks', { tasks: [{ payload: 1 }, { payload: 2 }] });
  const claim = () => call('POST /v1/queues/own/claim-for-worker', { worker: 'w' });
  const first = await claim();
  expect(first).toMatchObject({ state: 'found', tasks: [{ payload: 1 }] });
  expect(await claim()).toMatchObject({ lease: first.lease, tasks: first.tasks });
  await call(`POST /v1/leases/${first.lease}/complete`, {});
  expect(await claim()).toMatchObject({ state: 'found', tasks: [{ payload: 2 }] });
});

test('invalid input is refused with the field, and a key for other queues too', async () => {
  for (const [route, body, field] of [
    ['PUT /v1/pools/a%20b/workers/w', {}, 'pool'],
    [`PUT /v1/pools/p/workers/${'w'.repeat(201)}`, {}, 'worker'],
    ['PUT /v1/pools/p/workers/w', { lease_seconds: 0 }, 'lease_seconds'],
    ['PUT /v1/pools/p/workers/w', { fencing_token: 5 }, 'fencing_token'],
    ['PUT /v1/pools/p/workers/w', { fencing_token: '9223372036854775808' }, 'fencing_token'],
    ['POST /v1/pools/p/assign', {}, 'task'],
    ['POST /v1/pools/p/assign', { task: 't', worker: '' }, 'worker'],
    ['POST /v1/pools/p/assign', { task: 't\0' }, 'task'],
    ['POST /v1/pools/p/take', { worker: null }, 'worker'],
    ['POST /v1/pools/p/tasks', { tasks: [] }, 'tasks'],
    ['POST /v1/pools/p/tasks', { tasks: ['t', 1] }, 'tasks[1]'],
    ['POST /v1/pools/p/unassign', { task: 't', again: 1 }, 'again'],
    ['GET /v1/pools/p?limit=0', undefined, 'limit'],
    ['GET /v1/pools/p?state=free', undefined, 'state'],
  ] as const) {
    const refused = await tock.send(route, { body });
    expect([route, refused.status, refused.body.field]).toEqual([route, 422, field]);
  }
  expect((await tock.owner.query("select from tock.pool_members where pool = 'p'")).rowCount).toBe(
    0,
  );
  const key = await tock.makeKey(['claim', 'enqueue', 'read'], ['taking']);
  expect(await tock.send('GET /v1/pools/taking', { key })).toMatchObject({ status: 200 });
  for (const [route, body] of [
    ['GET /v1/pools/shard-7', undefined],
    ['GET /v1/pools', undefined],
    ['POST /v1/pools/shard-7/assign', { task: 't' }],
    ['PUT /v1/pools/shard-7/workers/w', {}],
  ] as const) {
    expect(await tock.send(route, { key, body }), route).toMatchObject({ status: 403 });
  }
  const reader = await tock.makeKey(['read']);
  for (const verb of ['assign', 'assign-all', 'tasks', 'take', 'unassign']) {
    const body = { task: 't', tasks: ['t'], worker: 'w' };
    const only = {
      assign: ['task'],
      'assign-all': ['tasks'],
      tasks: ['tasks'],
      take: ['worker'],
      unassign: ['task'],
    }[verb];
    const sent = Object.fromEntries(Object.entries(body).filter(([key]) => only?.includes(key)));
    const refused = await tock.send(`POST /v1/pools/taking/${verb}`, { key: reader, body: sent });
    expect(refused, verb).toMatchObject({ status: 403 });
  }
});

test.each([
  ['PUT /v1/pools/p/workers/a%00b', {}, 'worker'],
  ['PUT /v1/pools/p/workers/a%ED%A0%80b', {}, 'worker'],
  ['DELETE /v1/pools/p/workers/%FF', undefined, 'worker'],
  ['GET /v1/pools/%00', undefined, 'pool'],
  ['GET /v1/pools/p?worker=a%00', undefined, 'worker'],
  ['POST /v1/pools/p/take', { worker: 'a\ud800' }, 'worker'],
  ['POST /v1/pools/p/tasks', { tasks: ['ok', 'a\0b'] }, 'tasks[1]'],
  ['POST /v1/queues/q/claim-for-worker', { worker: 'a\0' }, 'worker'],
] as const)('a name that cannot be stored is refused: %s (%#)', async (route, body, field) => {
  const { status, body: answer } = await tock.send(route, { body });
  expect([status, answer.field]).toEqual([422, field]);
});
