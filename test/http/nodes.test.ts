import { afterAll, beforeAll, expect, test } from 'vitest';
import { putDirectory } from '../sql/features/nodes/directory.ts';
import { type Service, service } from './service.ts';

let tock: Service;
let limited: string;
beforeAll(async () => {
  tock = await service();
  await tock.owner.query('select tock.found_range(1)');
  limited = await tock.makeKey(['enqueue', 'claim', 'read'], ['here']);
  await putDirectory(tock.owner, 1, { here: 1, there: 2, ':1': 1, ':2': 2 });
});
afterAll(() => tock.database.drop());

const id = (2n * 2n ** 53n + 12345678n * 2n ** 20n + 1n).toString();
const lease = `00000001-0000-4000-8000-00000${(2 * 2 ** 18).toString(16).padStart(7, '0')}`;
const refused = (detail: string, field: string) => ({
  type: '/errors/TK421',
  title: 'Another node has this',
  status: 421,
  detail,
  field,
  hint: 'Send this call to node 2',
});

test('a call for a queue, task or lease of another node is a 421 that names the node', async () => {
  const calls = [
    ['POST /v1/queues/there/tasks', { payload: 1 }, refused('queue there is on node 2', 'queue')],
    ['PUT /v1/queues/there', { paused: true }, refused('queue there is on node 2', 'queue')],
    ['POST /v1/queues/there/claim', {}, refused('queue there is on node 2', 'queue')],
    [`GET /v1/tasks/${id}`, undefined, refused(`task ${id} is on node 2`, 'id')],
    [`POST /v1/tasks/${id}/cancel`, {}, refused(`task ${id} is on node 2`, 'id')],
    [`GET /v1/tasks/${id}/parents`, undefined, refused(`task ${id} is on node 2`, 'id')],
    [`GET /v1/tasks/${id}/children`, undefined, refused(`task ${id} is on node 2`, 'id')],
    [`GET /v1/tasks/${id}/steps`, undefined, refused(`task ${id} is on node 2`, 'id')],
    [`POST /v1/leases/${lease}/complete`, {}, refused('this lease is on node 2', 'lease')],
    [`POST /v1/leases/${lease}/fail`, {}, refused('this lease is on node 2', 'lease')],
    [`POST /v1/leases/${lease}/extend`, {}, refused('this lease is on node 2', 'lease')],
  ] as const;
  for (const [route, body, problem] of calls) {
    const reply = await tock.send(route, { body });
    expect([route, reply.status, reply.body]).toEqual([route, 421, problem]);
  }
});

test('a key of some queues learns where a task or lease is, and nothing of a queue that is not its own', async () => {
  for (const route of [`GET /v1/tasks/${id}`, `POST /v1/leases/${lease}/complete`]) {
    const body = route.startsWith('POST') ? {} : undefined;
    expect(await tock.send(route, { key: limited, body })).toMatchObject({ status: 421 });
  }
  const other = { key: limited, body: { payload: 1 } };
  expect(await tock.send('POST /v1/queues/there/tasks', other)).toMatchObject({ status: 403 });
});
