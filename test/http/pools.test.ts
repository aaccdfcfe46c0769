import { expect, test } from 'vitest';
import { fileService } from './file_service.ts';

const tock = fileService();

const call = async (route: string, body?: object) => (await tock.send(route, { body })).body;

test('a leader is elected, found, and replaced when it dies', async () => {
  const pool = '/v1/pools/shard-7';
  for (const workerName of ['x/1', 'y', 'z']) {
    const path = `${pool}/workers/${encodeURIComponent(workerName)}`;
    const joined = await call(`PUT ${path}`, { lease_seconds: 10 });
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
  const none = { task: null, fencing_token: null, leased_until: null };
  expect(await beat()).toEqual({ state: 'lost', ...none });
  expect((await call(`GET ${pool}`)).members).toMatchObject([
    { worker: 'y', task: 'leader', state: 'held' },
    { worker: 'z', task: null, state: 'free', fencing_token: null },
  ]);
});

test('a key for other queues or without the scope is refused', async () => {
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
  for (const [verb, body] of [
    ['assign', { task: 't' }],
    ['assign-all', { tasks: ['t'] }],
    ['tasks', { tasks: ['t'] }],
    ['take', { worker: 'w' }],
    ['unassign', { task: 't' }],
  ] as const) {
    expect((await tock.post(`pools/taking/${verb}`, body, reader)).status, verb).toBe(403);
  }
});

test.each([
  ['PUT /v1/pools/a%20b/workers/w', {}, 'pool'],
  ['PUT /v1/pools/p/workers/w', { fencing_token: '9223372036854775808' }, 'fencing_token'],
  ['POST /v1/pools/p/tasks', { tasks: ['t', 1] }, 'tasks[1]'],
  ['PUT /v1/pools/p/workers/a%ED%A0%80b', {}, 'worker'],
  ['DELETE /v1/pools/p/workers/%FF', undefined, 'worker'],
  ['GET /v1/pools/%00', undefined, 'pool'],
  ['GET /v1/pools/p?worker=a%00', undefined, 'worker'],
  ['POST /v1/pools/p/take', { worker: 'a\ud800' }, 'worker'],
  ['POST /v1/pools/p/tasks', { tasks: ['ok', 'a\0b'] }, 'tasks[1]'],
] as const)('a name that cannot be stored is refused: %s (%#)', async (route, body, field) => {
  const { status, body: answer } = await tock.send(route, { body });
  expect([status, answer.field]).toEqual([422, field]);
  const { rowCount } = await tock.owner.query("select from tock.pool_members where pool = 'p'");
  expect(rowCount).toBe(0);
});
