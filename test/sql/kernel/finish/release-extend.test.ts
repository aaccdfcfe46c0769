import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  extend,
  leaseOf,
  numberedTasks,
  reap,
  refusal,
  release,
  task,
  value,
} from '../../verbs.ts';
import { leased, spreadTasks } from '../sessions.ts';

databasePerFile();
afterAll(() => expectInvariants(client));

const unknown = '00000000-0000-4000-8000-000000000001';

test('a released task is ready at once and has lost no attempt', async () => {
  const [id] = await enqueue(client, 'given', [{ payload: 'p', max_attempts: 1 }]);
  const lease = leaseOf(await claim(client, 'given'));
  expect(await release(client, lease)).toEqual({ released: 1, refused: [] });
  expect((await task(client, id as string))?.state).toBe('ready');
  const [again] = await claim(client, 'given');
  expect(again).toMatchObject({ id, attempt: 1, payload: 'p' });
  await complete(client, again?.lease as string);
  expect(await task(client, id as string)).toMatchObject({
    state: 'done',
    lost: 0,
    runs: [{ state: 'superseded' }, { state: 'done' }],
  });
});

test('a repeated release of a task with a pending cancel answers the same', async () => {
  const { ids, lease } = await leased(2, 'unwanted');
  await client.query('select tock.cancel(p_ids => $1)', [ids]);
  const answer = { released: 2, refused: [] };
  expect(await release(client, lease)).toEqual(answer);
  expect(await release(client, lease)).toEqual(answer);
});

test("finished tasks and other leases' tasks are not released", async () => {
  const ids = await enqueue(client, 'foreign', numberedTasks(3));
  const lease = leaseOf(await claim(client, 'foreign', { limit: 2 }));
  await claim(client, 'foreign');
  await complete(client, lease, [{ id: ids[0] }]);
  expect(await release(client, lease, ids)).toEqual({ released: 1, refused: [ids[0], ids[2]] });
  expect(await release(client, lease, [ids[2] as string])).toBeUndefined();
  expect(await release(client, unknown)).toBeUndefined();
});

test('a lease is extended from now, and never shortened', async () => {
  await client.query(`select tock.put_queue('longer', '{"lease_seconds": 500}')`);
  await enqueue(client, 'longer', spreadTasks(3, 3));
  const [run] = await claim(client, 'longer', { limit: 3, lease_seconds: 50 });
  const lease = run?.lease as string;
  const longer = await extend(client, lease, 100);
  expect(longer?.runs).toBe(3);
  expect(longer?.leased_until.getTime()).toBeGreaterThan(run?.leased_until.getTime() as number);
  expect((await extend(client, lease, 1))?.leased_until).toEqual(longer?.leased_until);
  const policy = await extend(client, lease);
  expect(policy?.leased_until.getTime()).toBeGreaterThan(longer?.leased_until.getTime() as number);
});

test('a lease past its deadline, but not yet reaped, can still be extended', async () => {
  const { lease } = await leased(1, 'late');
  await expire(client, lease);
  expect((await extend(client, lease, 60))?.runs).toBe(1);
  expect(await reap(client)).toBe(0);
  expect(await complete(client, lease)).toMatchObject({ completed: 1 });
});

test.each([0, -1, 86_401])('%i is no number of seconds to extend by', async (seconds) => {
  const { lease } = await leased(1, 'bad');
  const refused = await refusal(extend(client, lease, seconds));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'lease_seconds' });
});

test('a lease and a task know their queue', async () => {
  const [id] = await enqueue(client, 'mine', [{}]);
  const [waiting] = await enqueue(client, 'mine', [{ delay_seconds: 100 }]);
  const lease = leaseOf(await claim(client, 'mine'));
  expect(await value(client, 'select tock.queue_of_lease($1)', [lease])).toBe('mine');
  expect(await value(client, 'select tock.queue_of_task($1)', [id])).toBe('mine');
  expect(await value(client, 'select tock.queue_of_task($1)', [waiting])).toBe('mine');
  expect(await value(client, 'select tock.queue_of_lease($1)', [unknown])).toBeNull();
  for (const none of ['0', '1048575', '-1', '9223372036854775807'])
    expect(await value(client, 'select tock.queue_of_task($1)', [none])).toBeNull();
});
