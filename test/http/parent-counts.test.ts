import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from './service.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service();
});
afterAll(() => tock.database.drop());

const post = (path: string, body: object, key?: string) =>
  tock.send(`POST /v1/${path}`, { body, ...(key && { key }) });
const list = async (query: string, key = tock.key) =>
  (await tock.send(`GET /v1/tasks?${query}`, { key })).body.tasks;

/** Adds tasks and one that depends on them; returns all ids. */
async function group(queue: string, parts: object[], callback: object = {}): Promise<string[]> {
  const tasks = [...parts, { depends_on: ['*'], on_parent_failure: 'wait', ...callback }];
  return (await post(`queues/${queue}/tasks`, { tasks })).body.ids;
}

test('tasks that wait for others are listed with the states of these, in one statement', async () => {
  const first = await group('a', [{}, {}, {}]);
  const second = await group('b', [{}]);
  const { lease } = (await post('queues/a/claim', { limit: 2 })).body;
  await post(`leases/${lease}/complete`, { results: [{ id: first[0] }] });
  await post(`leases/${lease}/fail`, { fatal: true });
  const before = tock.statements.length;
  expect(await list('waiting_for=dependency')).toMatchObject([
    { id: second[1], parents: 1, parent_counts: { ready: 1 } },
    { id: first[3], parents: 3, parent_counts: { done: 1, dead: 1, ready: 1 } },
  ]);
  expect(tock.statements.length).toBe(before + 1);
  expect(await list('waiting_for=dependency&queue=a')).toHaveLength(1);
  expect(await list('waiting_for=dependency&queue=a&limit=1&tenant=nobody')).toEqual([]);
  // Other lists do without.
  for (const query of ['state=waiting', 'waiting_for=time', 'queue=a'])
    for (const task of await list(query)) expect(task).not.toHaveProperty('parents');
});

test('a key sees the states of parents that it may read, and no sign of the others', async () => {
  const { rows } = await tock.owner.query(
    "select key from tock.create_key('t', '{enqueue,read}', p_tenants => '{acme}')",
  );
  const [foreign] = (await post('queues/secret/tasks', { tenant: 'evil' })).body.ids;
  const acme = { tenant: 'acme' };
  const ids = await group('mine', [acme, acme], { ...acme, depends_on: ['*', foreign] });
  const expected = [{ id: ids[2], parents: 2, parent_counts: { ready: 2 } }];
  expect(await list('waiting_for=dependency', rows[0].key)).toMatchObject(expected);
  const ofQueue = await tock.makeKey(['read'], ['mine']);
  expect(await list('waiting_for=dependency&queue=mine', ofQueue)).toMatchObject(expected);
  expect(await list('waiting_for=dependency&queue=mine')).toMatchObject([
    { parents: 3, parent_counts: { ready: 3 } },
  ]);
});
