import { afterAll, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { claim, complete, enqueue, leaseOf, makeDue, refusal, task, value } from '../../verbs.ts';
import { enqueueOne, tasksWithKeys, taskWithKey } from './unique_keys.ts';

databasePerFile();

afterAll(() => expectInvariants(client));

const later = { delay_seconds: 100 };

const unfinished = { unique_policy: 'unfinished' };

test.each([
  ['cancels', 'replace', later, 'select tock.cancel($1)'],
  ['changes', 'merge', later, `select tock.change($1, '{"payload": 0}')`],
  ['promotes', 'debounce', later, 'select tock.promote() where $1::bigint[] is not null'],
  ['changes a ready one as', 'replace', unfinished, `select tock.change($1, '{"payload": 0}')`],
])(
  'while another transaction %s the task of a key, %s gets TK503',
  async (how, on_conflict, more, statement) => {
    const [other, keeper] = [await db.connect(), await db.connect()];
    const queue = how.replaceAll(' ', '-');
    const keyedTask = taskWithKey(1, { on_conflict, ...more });
    const [id] = await enqueue(client, queue, [keyedTask]);
    if (how === 'promotes') await makeDue(client, queue);
    await other.query('begin');
    await other.query(statement, [[id]]);
    await keeper.query('begin');
    const refused = await refusal(
      enqueue(keeper, queue, [{}, keyedTask, taskWithKey(2, {}, 'another')]),
    );
    const detail = how.includes('ready') ? '' : 'unique_key';
    expect(refused).toMatchObject({ code: 'TK503', detail });
    expect(refused.hint).toMatch(/^try again/);
    await keeper.query('rollback');
    await other.query('rollback');
    const kept = 'select count(*)::int from tock.unique_keys where queue = $1';
    expect(await value(client, kept, [queue])).toBe(1);
    expect(await enqueue(client, queue, [keyedTask])).toHaveLength(1);
  },
);

test("an enqueue waits for a key of another transaction for the caller's lock_timeout", async () => {
  const [other, impatient] = [await db.connect(), await db.connect()];
  await other.query('begin');
  await enqueue(other, 'impatient', [taskWithKey(1)]);
  await impatient.query(`set lock_timeout = '50ms'`);
  const refused = await refusal(enqueue(impatient, 'impatient', [taskWithKey(2)]));
  expect(refused.code).toBe('TK503');
  await other.query('commit');
  expect(await enqueue(impatient, 'impatient', [taskWithKey(3)])).toHaveLength(1);
});

test('a call takes at most 1,000 tasks that may change others', async () => {
  const tasks = [{}, ...tasksWithKeys(1000, (n) => `k${n}`, { on_conflict: 'replace' })];
  const last = taskWithKey(0, { on_conflict: 'merge' }, 'last');
  const refused = await refusal(enqueue(client, 'many', [...tasks, last]));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'tasks[1001].on_conflict' });
  const kept = taskWithKey(0, { on_conflict: 'keep' }, 'last');
  expect(await enqueue(client, 'many', [...tasks, kept])).toHaveLength(1002);
});

test('a task that is cancelled frees its key within its period too', async () => {
  for (const on_conflict of ['keep', 'replace']) {
    const queue = `freed-${on_conflict}`;
    const period = { unique_policy: 'period', unique_seconds: 3600, on_conflict };
    const first = await enqueueOne(queue, 1, period);
    await client.query('select tock.cancel(array[$1::bigint])', [first]);
    const next = await enqueueOne(queue, 1, period);
    expect(next).not.toBe(first);
    expect(await enqueueOne(queue, 1, period)).toBe(next);
  }
});

test('a task that is cancelled during an uncommitted claim may run beside the next task of its key', async () => {
  const [first] = await enqueue(client, 'beside', [taskWithKey(1, unfinished)]);
  const other = await begin();
  expect(await claim(other, 'beside')).toHaveLength(1);
  await client.query('select tock.cancel(array[$1::bigint])', [first]);
  const [second] = await enqueue(client, 'beside', [taskWithKey(2, unfinished)]);
  await other.query('commit');
  await claim(client, 'beside');
  const states = [await task(client, first as string), await task(client, second as string)];
  // The cancel ended the task for its key. It could not see the uncommitted claim, which came first.
  expect(states.map((row) => row?.state)).toEqual(['running', 'running']);
  expect(states[0]?.runs).toMatchObject([{ cancel_requested: true }]);
});

test('within its period a key drops tasks that come after the end of the first', async () => {
  for (const on_conflict of ['replace', 'merge', 'debounce']) {
    const queue = `period-${on_conflict}`;
    const period = { unique_policy: 'period', unique_seconds: 3600, on_conflict };
    const [id] = await enqueue(client, queue, [taskWithKey([1], period)]);
    await complete(client, leaseOf(await claim(client, queue)));
    expect(await enqueue(client, queue, [taskWithKey([2], period)])).toEqual([id]);
    expect(await task(client, id as string)).toMatchObject({ state: 'done', payload: [1] });
    expect(await claim(client, queue)).toEqual([]);
  }
});
