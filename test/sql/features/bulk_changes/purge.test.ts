import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { cancel, change } from '../../kernel/change/changes.ts';
import { createSegments } from '../../kernel/segment/segments.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
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
  refusal,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { listAll, purge } from './bulk_changes.ts';

databasePerFile();
let count = 0;

const queue = () => `p${++count}`;

test('a purge cancels ready and waiting tasks, and leaves running and ended ones', async () => {
  const q = queue();
  const ids = await enqueue(
    client,
    q,
    numberedTasks(30).map((numberedTask, n) => ({
      ...numberedTask,
      priority: n % 3,
      tenant: `t${n % 5}`,
    })),
  );
  const later = await enqueue(client, q, numberedTasks(4, 30, { delay_seconds: 100 }));
  const runs = await claim(client, q, { limit: 6 });
  await complete(client, leaseOf(runs), [{ id: runs[0]?.id as string, result: 1 }]);
  await fail(client, leaseOf(runs), [{ id: runs[1]?.id as string, retry_in_seconds: 0 }]);
  const [elsewhere] = await enqueue(client, queue(), [{}]);
  expect(await purge(client, q)).toEqual({ ready: '25', waiting: 4, busy: 0, more: false });
  expect(await purge(client, q)).toEqual({ ready: '0', waiting: 0, busy: 0, more: false });
  expect(await claim(client, q, { limit: 100 })).toEqual([]);
  const running = new Set(runs.slice(2).map((run) => run.id));
  for (const id of [...ids, ...later]) {
    const stored = await task(client, id);
    const state =
      id === runs[0]?.id ? 'done' : running.has(id) ? 'running' : ('cancelled' as string);
    expect(stored?.state, id).toBe(state);
    expect(stored?.ended_at === null, id).toBe(state === 'running');
  }
  expect((await listAll(client, { queue: q, state: 'cancelled' })).length).toBe(29);
  expect((await task(client, elsewhere as string))?.state).toBe('ready');
  await complete(client, leaseOf(runs));
  for (const id of running) expect((await task(client, id))?.state).toBe('done');
  await expectInvariants(client);
  await enqueue(client, q, numberedTasks(3));
  expect((await drain(client, q)).flat()).toHaveLength(3);
});

test('a purge can be limited to ready or to waiting tasks', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(3));
  await enqueue(client, q, numberedTasks(2, 3, { delay_seconds: 100 }));
  expect(await purge(client, q, 'waiting')).toMatchObject({ ready: '0', waiting: 2, more: false });
  expect((await drain(client, q)).flat()).toHaveLength(3);
  await enqueue(client, q, numberedTasks(3));
  await enqueue(client, q, numberedTasks(2, 3, { delay_seconds: 100 }));
  expect(await purge(client, q, 'ready')).toMatchObject({ ready: '3', waiting: 0, more: false });
  await makeDue(client, q);
  await promote(client);
  expect((await drain(client, q)).flat()).toHaveLength(2);
  await expectInvariants(client);
});

test('a purge over tasks that were changed and cancelled before ends them all', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(20));
  await change(client, ids.slice(0, 5), { priority: 2, payload: 'new' });
  await change(client, ids.slice(3, 8), { delay_seconds: 50 });
  await cancel(client, ids.slice(7, 10));
  const stored = (await task(client, ids[8] as string))?.ended_at;
  expect(await purge(client, q)).toEqual({ ready: '13', waiting: 4, busy: 0, more: false });
  for (const id of ids) expect((await task(client, id))?.state).toBe('cancelled');
  expect((await task(client, ids[8] as string))?.ended_at).toEqual(stored);
  await makeDue(client, q);
  await promote(client);
  expect(await claim(client, q, { limit: 100 })).toEqual([]);
  expect(await cancel(client, ids)).toHaveLength(20);
  await expectInvariants(client);
});

test('a purge is bounded, and its answer says that more is left', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(30));
  await enqueue(client, q, numberedTasks(15, 0, { delay_seconds: 50 }));
  expect(await purge(client, q, null, 10)).toMatchObject({ waiting: 10, more: true });
  let purged = await purge(client, q, null, 10);
  let calls = 0;
  while (purged.more && ++calls < 20) purged = await purge(client, q, null, 10);
  expect(purged).toMatchObject({ more: false });
  expect(await listAll(client, { queue: q, state: 'cancelled' })).toHaveLength(45);
  await expectInvariants(client);
});

test('a purge skips and counts a stream with an open claim, without waiting for it', async () => {
  const q = queue();
  const other = await db.connect();
  await enqueue(client, q, numberedTasks(5));
  await other.query('begin');
  const runs = await claim(other, q, { limit: 2 });
  await enqueue(client, q, numberedTasks(3, 5, { priority: 8 }));
  expect(await purge(client, q)).toEqual({ ready: '3', waiting: 0, busy: 1, more: true });
  await other.query('commit');
  expect(await purge(client, q)).toEqual({ ready: '3', waiting: 0, busy: 0, more: false });
  expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 2 });
  await expectInvariants(client);
});

test('tasks in an open transaction are not purged and not lost', async () => {
  const q = queue();
  const other = await db.connect();
  await enqueue(client, q, numberedTasks(2));
  await other.query('begin');
  const held = await enqueue(other, q, numberedTasks(3, 2));
  await enqueue(client, q, numberedTasks(2, 5));
  expect(await purge(client, q)).toMatchObject({ ready: '4', more: false });
  await other.query('commit');
  const got = (await drain(client, q)).flat();
  expect(got.map((run) => run.id).toSorted()).toEqual(held.toSorted());
  await expectInvariants(client);
});

test('a purge covers several segments, and verification finds each run', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(7));
  await client.query(
    `select setval('tock.positions', e.end_position) from tock.segments e where e.number = tock.newest_segment()`,
  );
  await createSegments(client);
  await enqueue(client, q, numberedTasks(5));
  expect(await purge(client, q)).toMatchObject({ ready: '12', more: false });
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
  );
  while ((await value<number>(client, 'select tock.reap(p_sweep => true)')) > 0);
  for (const { name } of await rows<{ name: string }>(
    client,
    "select name from tock.queues where name <> '*'",
  )) {
    while ((await purge(client, name)).more);
  }
  await createSegments(client, '), tock.create_segments(');
  await client.query('select tock.deactivate_streams()');
  await client.query('select tock.close_segments()');
  while ((await value<number>(client, 'select tock.verify_segments()')) > 0);
  expect(
    await value(client, 'select count(*)::int from tock.segments where verified_at is not null'),
  ).toBeGreaterThan(0);
  expect(
    await rows(client, "select detail from tock.reports where kind = 'verify_segments'"),
  ).toEqual([]);
  await expectInvariants(client);
});

test('an invalid purge is refused with its field', async () => {
  const fields = async (promise: Promise<unknown>) => {
    const { code, detail } = await refusal(promise);
    return [code, detail];
  };
  expect(await fields(purge(client, '*'))).toEqual(['TK422', 'queue']);
  expect(await fields(purge(client, 'q', 'running'))).toEqual(['TK422', 'state']);
  expect(await fields(purge(client, 'q', null, 0))).toEqual(['TK422', 'limit']);
  const other = await db.connect();
  await other.query('begin isolation level repeatable read');
  expect(await fields(purge(other, 'q'))).toEqual(['TK409', '']);
});

test('a purge of ready tasks admits the waiters of their concurrency keys', async () => {
  const q = queue();
  const limited = ['a', 'b', 'a', 'b', 'b'].map((concurrency_key, n) => ({
    payload: n,
    concurrency_key,
  }));
  const ids = await enqueue(client, q, limited);
  await promote(client);
  expect(await purge(client, q, 'ready')).toEqual({ ready: '2', waiting: 0, busy: 0, more: false });
  const runs = (await drain(client, q)).flat();
  expect(runs.map((run) => run.payload).toSorted()).toEqual([2, 3]);
  for (const run of runs) await complete(client, run.lease);
  const last = await claim(client, q);
  expect(last).toMatchObject([{ payload: 4 }]);
  await complete(client, leaseOf(last));
  expect(await task(client, ids[0] as string)).toMatchObject({ state: 'cancelled' });
  await expectInvariants(client);
});

test('a purge admits no waiters above the limit of a concurrency key, and none at a paused key', async () => {
  const q = queue();
  const limited = (concurrency_key: string, n: number) => numberedTasks(n, 0, { concurrency_key });
  await enqueue(client, q, [...limited('running', 3), ...limited('paused', 3)]);
  await promote(client);
  const [run] = await claim(client, q);
  const other = await task(client, run?.id as string);
  const concurrency_key = other?.options?.concurrency_key === 'running' ? 'paused' : 'running';
  await client.query(`select tock.put_concurrency_key($1, $2, '{"paused": true}')`, [
    q,
    concurrency_key,
  ]);
  expect(await purge(client, q, 'ready')).toMatchObject({ ready: '1', more: false });
  expect(await claim(client, q, { limit: 9 })).toEqual([]);
  await expectInvariants(client);
});

test('tasks that are enqueued during a purge do not count as more to purge', async () => {
  const q = queue();
  // The trigger enqueues two more tasks during each purge.
  await client.query(`
    create function pg_temp.more() returns trigger language plpgsql as $f$
    begin
      perform tock.enqueue('${q}', '[{"priority": 9}, {"delay_seconds": 50}]');
      return null;
    end $f$;
    create trigger more after insert on tock.leases for each row
      when (new.outcome = 'purged') execute function pg_temp.more();
    create trigger more after delete on tock.waiting execute function pg_temp.more()`);
  try {
    await enqueue(client, q, [...numberedTasks(5), ...numberedTasks(5, 5, { delay_seconds: 50 })]);
    expect(await purge(client, q, 'ready')).toMatchObject({ ready: '5', more: false });
    expect(await purge(client, q, 'waiting')).toMatchObject({ more: false });
    expect(await purge(client, q)).toMatchObject({ more: false });
  } finally {
    await client.query('drop trigger more on tock.leases; drop trigger more on tock.waiting');
  }
  await expectInvariants(client);
});

const drop = (q: string, force = false) =>
  rows(client, 'select dropped, ready, running, waiting from tock.drop_queue($1, $2)', [q, force]);

test('a queue is dropped when it is paused and has no unfinished task', async () => {
  const q = queue();
  const [id] = await enqueue(client, q, numberedTasks(3));
  const runs = await claim(client, q);
  expect(await refusal(drop(q))).toMatchObject({ code: 'TK409', detail: 'queue' });
  await client.query(`select tock.put_queue($1, '{"paused": true}')`, [q]);
  expect(await drop(q)).toEqual([{ dropped: false, ready: '0', running: '1', waiting: '0' }]);
  expect(await value(client, 'select paused from tock.queue($1)', [q])).toBe(true);
  await complete(client, leaseOf(runs));
  expect(await drop(q)).toEqual([{ dropped: true, ready: '0', running: '0', waiting: '0' }]);
  expect(await drop(q)).toEqual([]);
  expect(await rows(client, 'select * from tock.queue($1)', [q])).toEqual([]);
  expect(await task(client, id as string)).toMatchObject({ queue: q, state: 'done' });
  await enqueue(client, q, [{}]);
  expect(await claim(client, q)).toHaveLength(1);
  expect(await drop(q, true)).toMatchObject([{ dropped: false, running: '1' }]);
  await expectInvariants(client);
});

test('a dropped queue leaves no concurrency keys and unique keys behind', async () => {
  const q = 'left-behind';
  await enqueue(client, q, [{ concurrency_key: 'g', unique_key: 'k' }, { concurrency_key: 'g' }]);
  await client.query(`select tock.put_queue($1, '{"max_running": 5}')`, [q]);
  await promote(client);
  await complete(client, leaseOf(await claim(client, q)));
  expect(await drop(q, true)).toMatchObject([{ dropped: true }]);
  for (const table of [
    'concurrency_keys',
    'concurrency_admissions',
    'unique_keys',
    'queue_limiter_state',
    'waiting',
  ]) {
    const count = `select count(*)::int from tock.${table} where queue = $1`;
    expect(await value(client, count, [q]), table).toBe(0);
  }
});

test('tasks in an open transaction are claimed after it commits, also if their queue was dropped meanwhile', async () => {
  const q = queue();
  await enqueue(client, q, [{}]);
  const other = await db.connect();
  await other.query('begin');
  const [id] = await enqueue(other, q, [{ payload: 'late' }]);
  expect(await drop(q, true)).toMatchObject([{ dropped: true }]);
  await other.query('commit');
  const runs = await claim(client, q);
  expect(runs).toMatchObject([{ id, payload: 'late' }]);
  await complete(client, leaseOf(runs));
  await expectInvariants(client);
});

test('tasks that expired while waiting stay expired when their queue is purged', async () => {
  const q = queue();
  const tasks = numberedTasks(2, 0, { concurrency_key: 'g', expires_in_seconds: 0.05 });
  const ids = await enqueue(client, q, tasks);
  const states = async () => Promise.all(ids.map(async (id) => (await task(client, id))?.state));
  await expect.poll(states).toEqual(['expired', 'expired']);
  expect(await purge(client, q)).toMatchObject({ ready: '0', busy: 0, more: false });
  expect(await states()).toEqual(['expired', 'expired']);
  await expectInvariants(client);
});
