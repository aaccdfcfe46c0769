import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectInvariants } from '../../invariants.ts';
import { claim, complete, enqueue, leaseOf, makeDue, refusal, task, value } from '../../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(async () => {
  await expectInvariants(client);
  await db.drop();
});

const keyed = (payload: unknown, options: object = {}, key = 'k') => ({
  payload,
  unique_key: key,
  ...options,
});

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
    const keyedTask = keyed(1, { on_conflict, ...more });
    const [id] = await enqueue(client, queue, [keyedTask]);
    if (how === 'promotes') await makeDue(client, queue);
    await other.query('begin');
    await other.query(statement, [[id]]);
    await keeper.query('begin');
    const refused = await refusal(enqueue(keeper, queue, [{}, keyedTask, keyed(2, {}, 'another')]));
    expect(refused).toMatchObject({
      code: 'TK503',
      detail: how.includes('ready') ? '' : 'unique_key',
    });
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
  await enqueue(other, 'impatient', [keyed(1)]);
  await impatient.query(`set lock_timeout = '50ms'`);
  expect(await refusal(enqueue(impatient, 'impatient', [keyed(2)]))).toMatchObject({
    code: 'TK503',
  });
  await other.query('commit');
  expect(await enqueue(impatient, 'impatient', [keyed(3)])).toHaveLength(1);
});

test('a call takes at most 1,000 tasks that may change others', async () => {
  const many = (count: number, options: object) =>
    Array.from({ length: count }, (_, n) => keyed(n, options, `k${n}`));
  const tasks = [{}, ...many(1000, { on_conflict: 'replace' })];
  const last = keyed(0, { on_conflict: 'merge' }, 'last');
  const refused = await refusal(enqueue(client, 'many', [...tasks, last]));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'tasks[1001].on_conflict' });
  expect(
    await enqueue(client, 'many', [...tasks, keyed(0, { on_conflict: 'keep' }, 'last')]),
  ).toHaveLength(1002);
});

test.each(['keep', 'replace'])(
  'a task that is cancelled frees its key within its period too (%s)',
  async (on_conflict) => {
    const queue = `freed-${on_conflict}`;
    const tasks = [{ unique_key: 'k', unique_policy: 'period', unique_seconds: 3600, on_conflict }];
    const [first = ''] = await enqueue(client, queue, tasks);
    await client.query('select tock.cancel(array[$1::bigint])', [first]);
    const [next = ''] = await enqueue(client, queue, tasks);
    expect(next).not.toBe(first);
    expect(await enqueue(client, queue, tasks)).toEqual([next]);
  },
);

test('a task that is cancelled during an uncommitted claim may run beside the next task of its key', async () => {
  const other = await db.connect();
  const [first] = await enqueue(client, 'beside', [keyed(1, unfinished)]);
  await other.query('begin');
  expect(await claim(other, 'beside')).toHaveLength(1);
  await client.query('select tock.cancel(array[$1::bigint])', [first]);
  const [second] = await enqueue(client, 'beside', [keyed(2, unfinished)]);
  await other.query('commit');
  await claim(client, 'beside');
  const states = [await task(client, first as string), await task(client, second as string)];
  // The cancel ended the task for its key. It could not see the uncommitted claim, which came first.
  expect(states.map((row) => row?.state)).toEqual(['running', 'running']);
  expect(states[0]?.runs).toMatchObject([{ cancel_requested: true }]);
});

test.each(['replace', 'merge', 'debounce'])(
  'within its period %s drops tasks that come after the end of the first',
  async (on_conflict) => {
    const queue = `period-${on_conflict}`;
    const keyedTask = (payload: unknown[]) =>
      keyed(payload, { unique_policy: 'period', unique_seconds: 3600, on_conflict });
    const [id] = await enqueue(client, queue, [keyedTask([1])]);
    await complete(client, leaseOf(await claim(client, queue)));
    expect(await enqueue(client, queue, [keyedTask([2])])).toEqual([id]);
    expect(await task(client, id as string)).toMatchObject({ state: 'done', payload: [1] });
    expect(await claim(client, queue)).toEqual([]);
  },
);
