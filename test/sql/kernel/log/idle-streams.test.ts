import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  leaseOf,
  numberedTasks,
  refusal,
  rows,
  value,
} from '../../verbs.ts';
import { begin, invariantsAfterEach } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

const rest = (on: pg.Client = client) => value<number>(on, 'select tock.deactivate_streams()');
const awake = () => value<number>(client, 'select count(*)::int from tock.streams where awake');

/** Creates a queue whose only stream is at rest. */
async function asleep(queue: string): Promise<void> {
  await enqueue(client, queue, numberedTasks(2));
  for (const runs of await drain(client, queue)) await complete(client, leaseOf(runs));
  await rest();
  expect(await awake()).toBe(0);
}

test('a stream without unclaimed runs is put to rest, and one with unclaimed runs is not', async () => {
  await enqueue(client, 'empty', numberedTasks(2));
  await enqueue(client, 'full', numberedTasks(2));
  await drain(client, 'empty');
  expect(await rest()).toBe(1);
  expect(await rest()).toBe(0);
  const left = await rows(client, 'select queue from tock.streams where awake');
  expect(left).toEqual([{ queue: 'full' }]);
  expect(await claim(client, 'full', { limit: 5 })).toHaveLength(2);
});

test('a stream at rest wakes with the next task', async () => {
  await asleep('sleepy');
  const ids = await enqueue(client, 'sleepy', numberedTasks(3));
  expect(await awake()).toBe(1);
  expect((await claim(client, 'sleepy', { limit: 5 })).map((run) => run.id)).toEqual(ids);
});

test('a stream with an open writer stays awake', async () => {
  const writer = await db.connect();
  await enqueue(client, 'held', numberedTasks(1));
  await drain(client, 'held');
  await writer.query('begin');
  const ids = await enqueue(writer, 'held', numberedTasks(2));
  expect(await rest()).toBe(0);
  await writer.query('commit');
  expect((await claim(client, 'held', { limit: 5 })).map((run) => run.id)).toEqual(ids);
});

test('a stream with an open claim stays awake, also when the claim is rolled back', async () => {
  await enqueue(client, 'claimed', numberedTasks(2));
  const other = await begin();
  expect(await claim(other, 'claimed', { limit: 5 })).toHaveLength(2);
  expect(await rest()).toBe(0);
  await other.query('rollback');
  expect(await claim(client, 'claimed', { limit: 5 })).toHaveLength(2);
});

test('a writer that wakes a stream and rolls back leaves it at rest, and the next writer wakes it', async () => {
  await asleep('undone');
  await client.query('begin');
  await enqueue(client, 'undone', numberedTasks(1));
  await client.query('rollback');
  expect(await awake()).toBe(0);
  const ids = await enqueue(client, 'undone', numberedTasks(1));
  expect((await claim(client, 'undone')).map((run) => run.id)).toEqual(ids);
});

test("a task from a snapshot older than its stream's rest is refused or claimed, never lost", async () => {
  const writer = await db.connect();
  await enqueue(client, 'old', numberedTasks(1));
  await drain(client, 'old');
  await writer.query('begin isolation level repeatable read');
  await writer.query('select count(*) from tock.streams');
  await rest();
  expect(await awake()).toBe(0);
  // A stream's start moves up only when the stream wakes. The writer's old snapshot does not show that it is at rest.
  expect((await refusal(enqueue(writer, 'old', numberedTasks(1)))).code).toBe('40001');
  await writer.query('rollback');
  const ids = await enqueue(writer, 'old', numberedTasks(1));
  expect((await claim(client, 'old')).map((run) => run.id)).toEqual(ids);
});

test("a task from a snapshot older than its stream's waking is refused or claimed, never lost", async () => {
  await asleep('woken');
  const writer = await begin('isolation level repeatable read');
  await writer.query('select count(*) from tock.streams');
  await enqueue(client, 'woken', numberedTasks(1));
  expect((await refusal(enqueue(writer, 'woken', numberedTasks(1)))).code).toBe('40001');
  await writer.query('rollback');
  expect(await claim(client, 'woken', { limit: 5 })).toHaveLength(1);
});

test.each(['repeatable read', 'serializable'])(
  'deactivate_streams with an old %s snapshot puts no stream with a task to rest',
  async (level) => {
    const sleeper = await db.connect();
    await enqueue(client, 'stale', numberedTasks(1));
    await drain(client, 'stale');
    await sleeper.query(`begin isolation level ${level}`);
    await sleeper.query('select count(*) from tock.streams');
    const ids = await enqueue(client, 'stale', numberedTasks(2));
    await rest(sleeper).catch(() => 0);
    await sleeper.query('commit');
    expect((await claim(client, 'stale', { limit: 5 })).map((run) => run.id)).toEqual(ids);
  },
);

test('a slot held by an open transaction keeps no stream of another slot awake', async () => {
  for (let queue = 0; queue < 5; queue++) await enqueue(client, `first${queue}`, numberedTasks(1));
  const holder = await begin();
  await enqueue(holder, 'open', numberedTasks(1));
  await enqueue(client, 'second', numberedTasks(1));
  for (let queue = 0; queue < 5; queue++) await drain(client, `first${queue}`);
  await drain(client, 'second');
  expect(await value<number>(client, 'select tock.deactivate_streams(2)')).toBe(1);
  const left = await rows(client, 'select distinct slot from tock.streams where awake');
  expect(left).toEqual([{ slot: 0 }]);
  await holder.query('commit');
  expect(await claim(client, 'open', { limit: 5 })).toHaveLength(1);
});
