import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  makeDue,
  numberedTasks,
  promote,
  type Run,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { begin } from '../sessions.ts';

databasePerTest();

/** Promotes upwards from the newest due time that was promoted, as claims do. */
const ahead = (limit = 1000) =>
  value<number>(client, 'select tock.promote(p_limit => $1)', [limit]);

/** Enqueues one task for each number n, due n minutes ago. */
async function overdue(queue: string, minutes: number[], on = client): Promise<string[]> {
  const tasks = minutes.map((n) => ({ payload: n, delay_seconds: 3600 }));
  const ids = await enqueue(on, queue, tasks);
  for (const [n, id] of ids.entries()) {
    await on.query(
      `update tock.waiting set due_at = now() - $2 * interval '1 minute' where position = $1::bigint >> 20`,
      [id, minutes[n]],
    );
  }
  return ids;
}

test('tasks come out of waiting in the order in which they were due', async () => {
  const ids = await overdue('q', [3, 9, 1, 7]);
  expect(await ahead()).toBe(4);
  const runs = await claim(client, 'q', { limit: 9 });
  expect(runs.map((run) => run.payload)).toEqual([9, 7, 3, 1]);
  expect(runs.map((run) => run.id).sort()).toEqual([...ids].sort());
  await expectInvariants(client);
});

test('a task that is not yet due stays, and one that waited keeps its id and options', async () => {
  const options = { payload: { a: 1 }, priority: 1, tenant: 'acme', max_attempts: 3 };
  const [id] = await enqueue(client, 'q', [{ ...options, delay_seconds: 60 }]);
  expect(await promote(client)).toBe(0);
  await makeDue(client, 'q');
  expect(await promote(client)).toBe(1);
  expect((await task(client, id as string))?.state).toBe('ready');
  const [run] = (await claim(client, 'q')) as [Run];
  expect(run).toMatchObject({ id, ...options });
  expect(run.run_id).not.toBe(id);
  await complete(client, run.lease, [{ id, result: 'by the task' }]);
  expect(await task(client, id as string)).toMatchObject({ state: 'done', result: 'by the task' });
  expect(await task(client, run.run_id)).toMatchObject({ id, state: 'done' });
});

test('a promotion is bounded, and the next one continues where it ended', async () => {
  const minutes = Array.from({ length: 25 }, (_, n) => 25 - n);
  await overdue('q', minutes);
  for (const count of [10, 10, 5, 0]) expect(await ahead(10)).toBe(count);
  const runs = await claim(client, 'q', { limit: 30 });
  expect(runs.map((run) => run.payload)).toEqual(minutes);
});

test('a task that commits below the newest one promoted is found by the sweep', async () => {
  const writer = await begin();
  const late = await overdue('q', [30], writer);
  const early = await overdue('q', [10]);
  expect(await promote(client)).toBe(1);
  expect((await claim(client, 'q')).map((run) => run.id)).toEqual(early);
  await writer.query('commit');
  expect(await ahead()).toBe(0);
  expect(await promote(client)).toBe(1);
  expect((await claim(client, 'q')).map((run) => run.id)).toEqual(late);
  await expectInvariants(client);
});

test('a claim in its own transaction promotes due tasks first', async () => {
  const ids = await overdue('q', [2, 1]);
  const own = "select id from tock.claim(p_queue => 'q', p_limit => 5, p_own_transaction => true)";
  expect((await rows(client, own)).map((run) => run.id)).toEqual(ids);
});

test('a claim inside a transaction promotes nothing for others', async () => {
  await overdue('q', [1]);
  await client.query('begin');
  expect(await claim(client, 'q')).toEqual([]);
  await client.query('commit');
  expect(await value(client, 'select count(*)::int from tock.waiting')).toBe(1);
});

test('two concurrent promotions share the due tasks', async () => {
  await overdue('q', [5, 4, 3, 2, 1]);
  const other = await begin();
  expect(await value(other, 'select tock.promote(p_limit => 3)')).toBe(3);
  expect(await promote(client)).toBe(2);
  await other.query('commit');
  expect(await claim(client, 'q', { limit: 9 })).toHaveLength(5);
  await expectInvariants(client);
});

test('an open transaction with a delayed task holds up no other waiting task', async () => {
  const writer = await begin();
  const held = await enqueue(writer, 'q', numberedTasks(1, 0, { delay_seconds: 1000 }));
  for (let round = 0; round < 5; round++) {
    const ids = await overdue('q', [3, 2]);
    expect(await promote(client)).toBe(2);
    expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual(ids);
  }
  await writer.query('commit');
  await makeDue(client, 'q');
  expect(await promote(client)).toBe(1);
  expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual(held);
  await expectInvariants(client);
});

test('an empty claim answers when to claim again', async () => {
  const state = 'select (tock.claim_state(array[$1])).retry_after_seconds';
  const retry = (queue: string) => value<number | null>(client, state, [queue]);
  await enqueue(client, 'soon', [{ delay_seconds: 12 }, { delay_seconds: 500 }]);
  await enqueue(client, 'far', [{ delay_seconds: 5000 }]);
  await enqueue(client, 'now', [{ delay_seconds: 0.05 }]);
  const soon = await retry('soon');
  expect(soon).toBeGreaterThan(5);
  expect(soon).toBeLessThanOrEqual(12);
  expect([await retry('far'), await retry('now'), await retry('none')]).toEqual([30, 1, 30]);
});

test('a claim whose sweep is late does only a part of the sweep', async () => {
  await enqueue(client, 'many', numberedTasks(10_000, 0, { delay_seconds: 100 }));
  for (let n = 0; n < 2; n++)
    await client.query(
      `insert into tock.waiting (position, due_at, queue, priority, lane, bytes)
       select nextval('tock.positions'), w.due_at, w.queue, w.priority, w.lane, w.bytes from tock.waiting w`,
    );
  await makeDue(client, 'many');
  await client.query('update tock.maintenance_jobs set last_started_at = null');
  await client.query("select id from tock.claim(p_queue => 'many', p_own_transaction => true)");
  const left = await value<number>(client, 'select count(*)::int from tock.waiting');
  expect(left).toBeLessThanOrEqual(39_000);
  expect(left).toBeGreaterThan(0);
});
