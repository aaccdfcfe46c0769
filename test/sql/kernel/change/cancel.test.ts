import { expect, test } from 'vitest';
import { search } from '../../read/search.ts';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  type Run,
  refusal,
  release,
  task,
} from '../../verbs.ts';
import { invariantsAfterEach } from '../sessions.ts';
import { cancel, cancelRequests, ends, type State, states, taskInState } from './changes.ts';

databasePerFile();
invariantsAfterEach();

let count = 0;

const queue = () => `c${++count}`;

/** For a task in each state: the answer of cancel(), and the state that task() shows afterwards. */
const outcomes: Record<State, [changed: boolean, state: string]> = {
  waiting: [true, 'cancelled'],
  ready: [true, 'cancelled'],
  running: [true, 'running'],
  done: [false, 'done'],
  dead: [false, 'dead'],
  cancelled: [false, 'cancelled'],
};

test.each(states)('a %s task is cancelled once, and the answer is true', async (state) => {
  const [changed, then] = outcomes[state];
  const { id } = await taskInState(client, queue(), state);
  expect((await task(client, id))?.state).toBe(state);
  expect(await cancel(client, [id])).toEqual([{ id, state: then, changed }]);
  const stored = await task(client, id);
  expect(stored).toMatchObject({ id, state: then, payload: 'as sent' });
  expect(await cancel(client, [id])).toEqual([{ id, state: then, changed: false }]);
  expect(await task(client, id)).toEqual(stored);
});

test('a cancelled task is never leased, and the others are', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(20));
  const late = await enqueue(client, q, numberedTasks(4, 20, { delay_seconds: 1000 }));
  const off = [...ids, ...late].filter((_, n) => n % 3 === 0);
  expect(await cancel(client, off)).toHaveLength(off.length);
  await makeDue(client, q);
  await promote(client);
  const got = (await drain(client, q, { limit: 4 })).flat().map((run) => run.payload);
  const left = numberedTasks(24).filter((_, n) => n % 3 !== 0);
  expect(new Set(got)).toEqual(new Set(left.map((task) => task.payload)));
  for (const id of off) {
    expect(await task(client, id)).toMatchObject({
      state: 'cancelled',
      attempt: 1,
      ended_at: expect.any(Date),
      runs: [{ state: 'cancelled', worker: null, started_at: null }],
    });
  }
});

test('the worker of a cancelled task is asked to stop, and may complete it all the same', async () => {
  const q = queue();
  const ids = (await enqueue(client, q, numberedTasks(3))) as [string, string, string];
  const lease = leaseOf(await claim(client, q, { limit: 3 }));
  expect(await cancelRequests(client, lease)).toEqual([]);
  await cancel(client, ids.slice(0, 2));
  expect(await cancelRequests(client, lease)).toEqual(ids.slice(0, 2));
  const asked = [{ state: 'running', cancel_requested: true }];
  const [run] = (await task(client, ids[0]))?.runs ?? [];
  expect([run]).toMatchObject(asked);
  expect(Date.parse(run?.cancel_requested_at ?? '')).toBeGreaterThan(
    Date.parse(run?.started_at ?? ''),
  );
  const listed = await search(client, { queue: q, state: 'running' });
  expect(listed.map((running) => [running.id, running.cancel_requested])).toEqual([
    [ids[2], false],
    [ids[1], true],
    [ids[0], true],
  ]);
  await complete(client, lease, [{ id: ids[0], result: 'r' }]);
  expect(await cancelRequests(client, lease)).toEqual([ids[1]]);
  await complete(client, lease);
  expect(await cancelRequests(client, lease)).toBeUndefined();
  const runs = [{ state: 'done', cancel_requested: false }];
  for (const id of ids) expect(await task(client, id)).toMatchObject({ state: 'done', runs });
});

test('a worker is not asked to stop runs that its claim skipped', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(3));
  await cancel(client, [ids[1] as string]);
  const got = await claim(client, q, { limit: 3 });
  expect(got.map((run) => run.id)).toEqual([ids[0], ids[2]]);
  expect(await cancelRequests(client, leaseOf(got))).toEqual([]);
});

test.each(Object.keys(ends))('a cancelled task that is %s is not tried again', async (how) => {
  const q = queue();
  const ids = (await enqueue(client, q, numberedTasks(2))) as [string, string];
  const lease = leaseOf(await claim(client, q, { limit: 2, worker: 'w' }));
  await cancel(client, [ids[0]]);
  await ends[how]?.(client, lease);
  expect(await task(client, ids[0])).toMatchObject({
    state: 'cancelled',
    attempt: 1,
    ended_at: expect.any(Date),
    ...(how.startsWith('failed') && { error: 'e' }),
    runs: [{ state: 'cancelled', worker: 'w', cancel_requested: false }],
  });
  expect((await task(client, ids[1]))?.state).toMatch(/ready|waiting/);
  await makeDue(client, q);
  await promote(client);
  expect((await claim(client, q, { limit: 9 })).map((run) => run.id)).toEqual([ids[1]]);
  const again = [{ id: ids[0], state: 'cancelled', changed: false }];
  expect(await cancel(client, [ids[0]])).toEqual(again);
});

test("a task is cancelled by any of its runs' ids, between its attempts and during the next", async () => {
  const q = queue();
  const [id, other] = (await enqueue(client, q, [{}, {}])) as [string, string];
  await fail(client, leaseOf(await claim(client, q)), { retry_in_seconds: 60 });
  await fail(client, leaseOf(await claim(client, q)), { retry_in_seconds: 0 });
  const [second] = (await claim(client, q)) as [Run];
  expect(second.run_id).not.toBe(other);
  const answer = { id: other, state: 'running', changed: true };
  expect(await cancel(client, [second.run_id])).toEqual([answer]);
  const ids = [other, second.run_id, other];
  expect(await cancel(client, ids)).toEqual([{ ...answer, changed: false }]);
  expect(await cancelRequests(client, second.lease)).toEqual([other]);
  await release(client, second.lease);
  expect(await task(client, second.run_id)).toMatchObject({ id: other, state: 'cancelled' });

  expect((await task(client, id))?.state).toBe('waiting');
  expect(await cancel(client, [id])).toEqual([{ id, state: 'cancelled', changed: true }]);
  const runs = [{ state: 'failed' }, { state: 'cancelled' }];
  expect(await task(client, id)).toMatchObject({ state: 'cancelled', runs });
  expect(await claim(client, q, { limit: 9 })).toEqual([]);
});

test('unknown ids are left out, and a task named twice is listed once', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(2));
  const odd = ['0', '-5', '5', '9223372036854775807', '-9223372036854775808', '77777777777'];
  expect(await cancel(client, odd)).toEqual([]);
  const answer = await cancel(client, [...ids, ...odd, ...ids]);
  expect(answer.map((row) => row.id).toSorted()).toEqual(ids.toSorted());
});

test.each([
  ['null', null],
  ['none', '{}'],
  ['one that is null', '{1,null}'],
  ['lists within the list', '{{1,2},{3,4}}'],
  ['more than 10,000', `{${Array(10_001).fill(1).join()}}`],
])('ids that are %s are refused, and the field is named', async (_, ids) => {
  const call = client.query('select tock.cancel(p_ids => $1::bigint[])', [ids]);
  expect(await refusal(call)).toMatchObject({ code: 'TK422', detail: 'ids' });
});
