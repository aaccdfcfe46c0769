import { expect, test } from 'vitest';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, complete, drain, enqueue, leaseOf, numberedTasks, value } from '../../verbs.ts';
import { begin, invariantsAfterEach } from '../sessions.ts';

databasePerTest();
invariantsAfterEach();

async function drained(queue: string, on = client): Promise<string[]> {
  return (await drain(on, queue)).flat().map((run) => run.id);
}

/** Enqueues, claims and completes 3,000 tasks, in ten rounds. */
async function thousandsPass(queue: string): Promise<void> {
  for (let call = 0; call < 10; call++) {
    const ids = await enqueue(client, queue, numberedTasks(300));
    const runs = (await drain(client, queue)).flat();
    expect(runs.map((run) => run.id).sort()).toEqual([...ids].sort());
    for (const lease of new Set(runs.map((run) => run.lease))) await complete(client, lease);
  }
}

test('a task in an open transaction delays no other task and is claimed once it commits', async () => {
  await enqueue(client, 'flow', numberedTasks(5));
  await drained('flow');
  const open = await begin();
  const ids = await enqueue(open, 'flow', numberedTasks(2));
  await thousandsPass('flow');
  await open.query('select 1');
  await thousandsPass('flow');
  await open.query('commit');
  expect(await drained('flow')).toEqual(ids);
});

test('a task whose open transaction creates its queue delays no other task and is claimed once it commits', async () => {
  const open = await begin();
  const ids = await enqueue(open, 'new', numberedTasks(2));
  await thousandsPass('new');
  expect(await value(client, 'select tock.deactivate_streams()')).toBeGreaterThan(0);
  await thousandsPass('new');
  await open.query('commit');
  expect(await drained('new')).toEqual(ids);
});

test('forty open transactions enqueue to one queue, and all their tasks are claimed', async () => {
  const writers = await Promise.all(Array.from({ length: 40 }, () => db.connect()));
  await enqueue(client, 'forty', numberedTasks(1));
  const ids = [...(await drained('forty'))];
  for (const [n, writer] of writers.entries()) {
    await writer.query('begin');
    ids.push(...(await enqueue(writer, 'forty', numberedTasks(3, n * 3))));
  }
  expect(await drained('forty')).toEqual([]);
  // The last writer to begin commits first: the writers need no order.
  for (const writer of writers.reverse()) await writer.query('commit');
  expect(await value(client, 'select count(distinct slot)::int from tock.streams')).toBe(40);
  expect([ids[0], ...(await drained('forty'))].sort()).toEqual(ids.sort());
});

test('a slot that a rollback to a savepoint frees is taken by another transaction, and both keep their order', async () => {
  const other = await db.connect();
  await client.query('begin');
  await client.query('savepoint a');
  await enqueue(client, 'slots', numberedTasks(3));
  await client.query('rollback to a');
  await other.query('begin');
  const theirs = await enqueue(other, 'slots', numberedTasks(2));
  const mine = await enqueue(client, 'slots', numberedTasks(2));
  await client.query('commit');
  const reader = await db.connect();
  expect(await drained('slots', reader)).toEqual(mine);
  await other.query('commit');
  expect(await drained('slots', reader)).toEqual(theirs);
});

test('a session cannot choose its slot by a setting', async () => {
  const other = await db.connect();
  await other.query("set tock.slot = '0'");
  await client.query('begin');
  const mine = await enqueue(client, 'said', numberedTasks(1));
  const theirs = await enqueue(other, 'said', numberedTasks(1));
  expect(await drained('said', other)).toEqual(theirs);
  await client.query('commit');
  expect(await drained('said')).toEqual(mine);
});

test.each(['repeatable read', 'serializable'])(
  'tasks enqueued in %s are claimed',
  async (level) => {
    await enqueue(client, 'levels', numberedTasks(1));
    await drained('levels');
    const writer = await begin(`isolation level ${level}`);
    await writer.query('select count(*) from tock.runs');
    await enqueue(client, 'levels', numberedTasks(3));
    expect(await drained('levels')).toHaveLength(3);
    const ids = await enqueue(writer, 'levels', numberedTasks(2));
    await enqueue(client, 'levels', numberedTasks(3));
    expect(await drained('levels')).toHaveLength(3);
    await writer.query('commit');
    expect(await drained('levels')).toEqual(ids);
  },
);

test.each(['repeatable read', 'serializable'])(
  'an enqueue to a queue that is newer than its %s snapshot succeeds or gets a conflict',
  async (level) => {
    const writer = await begin(`isolation level ${level}`);
    await writer.query('select count(*) from tock.streams');
    await enqueue(client, 'made', numberedTasks(1));
    const outcome = await enqueue(writer, 'made', numberedTasks(1)).catch((error) => error.code);
    if (Array.isArray(outcome)) await writer.query('commit');
    else {
      expect(outcome).toBe('40001');
      await writer.query('rollback');
    }
    expect(await drained('made')).toHaveLength(Array.isArray(outcome) ? 2 : 1);
  },
);

test('serializable transactions that enqueue concurrently all commit or get 40001', async () => {
  const writers = await Promise.all(Array.from({ length: 4 }, () => db.connect()));
  const ids: string[] = [];
  for (const writer of writers) {
    await writer.query('begin isolation level serializable');
    await writer.query('select 1 from tock.queues');
  }
  for (const writer of writers) {
    const code = await enqueue(writer, 'side', numberedTasks(2)).then(
      (added) => ids.push(...added),
      (error) => error.code,
    );
    if (typeof code === 'string') expect(code).toBe('40001');
    await writer.query('commit');
  }
  expect((await drained('side')).sort()).toEqual(ids.sort());
});

test('a task in a prepared transaction delays no other task and is claimed once it commits', async () => {
  const writer = await begin();
  const ids = await enqueue(writer, 'prepared', numberedTasks(2));
  await writer.query(`prepare transaction '${db.name}'`);
  await writer.end();
  await thousandsPass('prepared');
  expect(await value(client, 'select tock.deactivate_streams()')).toBeGreaterThanOrEqual(0);
  await client.query(`commit prepared '${db.name}'`);
  expect(await drained('prepared')).toEqual(ids);
});

test('a prepared claim keeps its runs, and its rollback makes them ready again', async () => {
  const ids = await enqueue(client, 'two-phase', numberedTasks(2));
  const worker = await begin();
  const runs = await claim(worker, 'two-phase', { limit: 2 });
  expect(leaseOf(runs)).toBeTruthy();
  await worker.query(`prepare transaction '${db.name}'`);
  expect(await drained('two-phase')).toEqual([]);
  await client.query(`rollback prepared '${db.name}'`);
  expect(await drained('two-phase')).toEqual(ids);
});
