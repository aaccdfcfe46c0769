import { expect, test } from 'vitest';
import { createSegments, startNextSegment, verifySegments } from '../../kernel/segment/segments.ts';
import { begin, invariantsAfterEach, spreadTasks } from '../../kernel/sessions.ts';
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
  refusal,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { putKey } from '../concurrency/concurrency_keys.ts';
import { listAll, purge } from './bulk_changes.ts';

databasePerFile();
invariantsAfterEach();
let count = 0;

const queue = () => `p${++count}`;

test('a purge cancels ready and waiting tasks, and leaves running and ended ones', async () => {
  const q = queue();
  const ids = await enqueue(client, q, spreadTasks(30, 3, 5));
  ids.push(...(await enqueue(client, q, numberedTasks(4, 30, { delay_seconds: 100 }))));
  const runs = await claim(client, q, { limit: 6 });
  await complete(client, leaseOf(runs), [{ id: runs[0]?.id as string, result: 1 }]);
  await fail(client, leaseOf(runs), [{ id: runs[1]?.id as string, retry_in_seconds: 0 }]);
  const [elsewhere] = await enqueue(client, queue(), [{}]);
  expect(await purge(client, q)).toEqual({ ready: '25', waiting: 4, busy: 0, more: false });
  expect(await purge(client, q)).toEqual({ ready: '0', waiting: 0, busy: 0, more: false });
  expect(await claim(client, q, { limit: 100 })).toEqual([]);
  const running = new Set(runs.slice(2).map((run) => run.id));
  for (const id of ids) {
    const stored = await task(client, id);
    const ended = id === runs[0]?.id ? 'done' : 'cancelled';
    expect(stored?.state, id).toBe(running.has(id) ? 'running' : ended);
    expect(stored?.ended_at === null, id).toBe(running.has(id));
  }
  expect((await listAll(client, { queue: q, state: 'cancelled' })).length).toBe(29);
  expect((await task(client, elsewhere as string))?.state).toBe('ready');
  await complete(client, leaseOf(runs));
  for (const id of running) expect((await task(client, id))?.state).toBe('done');
});

test('a purge can be limited to ready or to waiting tasks', async () => {
  const q = queue();
  for (const [state, left, ready, waiting] of [
    ['waiting', 3, '0', 2],
    ['ready', 2, '3', 0],
  ] as const) {
    await enqueue(client, q, numberedTasks(3));
    await enqueue(client, q, numberedTasks(2, 3, { delay_seconds: 100 }));
    expect(await purge(client, q, state)).toMatchObject({ ready, waiting, more: false });
    await makeDue(client, q);
    await promote(client);
    expect((await drain(client, q)).flat()).toHaveLength(left);
  }
});

test('a purge is bounded, and its answer says that more is left', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(30));
  await enqueue(client, q, numberedTasks(15, 0, { delay_seconds: 50 }));
  expect(await purge(client, q, null, 10)).toMatchObject({ waiting: 10, more: true });
  let calls = 0;
  while ((await purge(client, q, null, 10)).more) expect(++calls).toBeLessThan(20);
  expect(await listAll(client, { queue: q, state: 'cancelled' })).toHaveLength(45);
});

test('a purge skips and counts a stream with an open claim, without waiting for it', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(5));
  const other = await begin();
  const runs = await claim(other, q, { limit: 2 });
  await enqueue(client, q, numberedTasks(3, 5, { priority: 8 }));
  expect(await purge(client, q)).toEqual({ ready: '3', waiting: 0, busy: 1, more: true });
  await other.query('commit');
  expect(await purge(client, q)).toEqual({ ready: '3', waiting: 0, busy: 0, more: false });
  expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 2 });
});

test('tasks in an open transaction are not purged and not lost', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(2));
  const other = await begin();
  const held = await enqueue(other, q, numberedTasks(3, 2));
  await enqueue(client, q, numberedTasks(2, 5));
  expect(await purge(client, q)).toMatchObject({ ready: '4', more: false });
  await other.query('commit');
  const got = (await drain(client, q)).flat();
  expect(got.map((run) => run.id).toSorted()).toEqual(held.toSorted());
});

test('a purge covers several segments, and verification finds each run', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(7));
  await startNextSegment(client);
  await enqueue(client, q, numberedTasks(5));
  expect(await purge(client, q)).toMatchObject({ ready: '12', more: false });
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
  );
  while ((await value<number>(client, 'select tock.reap(p_sweep => true)')) > 0);
  for (let n = 1; n <= count; n++) while ((await purge(client, `p${n}`)).more);
  await createSegments(client, '), tock.create_segments(');
  await client.query('select tock.deactivate_streams()');
  await client.query('select tock.close_segments()');
  await verifySegments(client);
  const verified = 'select count(*)::int from tock.segments where verified_at is not null';
  expect(await value(client, verified)).toBeGreaterThan(0);
  const reports = "select detail from tock.reports where kind = 'verify_segments'";
  expect(await rows(client, reports)).toEqual([]);
});

test('an invalid purge is refused with its field', async () => {
  const refused = async (call: Promise<unknown>, detail: string, code = 'TK422') =>
    expect(await refusal(call)).toMatchObject({ code, detail });
  await refused(purge(client, '*'), 'queue');
  await refused(purge(client, 'q', 'running'), 'state');
  await refused(purge(client, 'q', null, 0), 'limit');
  const other = await begin('isolation level repeatable read');
  await refused(purge(other, 'q'), '', 'TK409');
});

test('a purge of ready tasks admits the waiters of their concurrency keys', async () => {
  const q = queue();
  const limited = ['a', 'b', 'a', 'b', 'b'].map((key, n) => ({ payload: n, concurrency_key: key }));
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
});

test('a purge admits no waiters above the limit of a concurrency key, and none at a paused key', async () => {
  const q = queue();
  const limited = (concurrency_key: string, n: number) => numberedTasks(n, 0, { concurrency_key });
  await enqueue(client, q, [...limited('running', 3), ...limited('paused', 3)]);
  await promote(client);
  const [run] = await claim(client, q);
  const other = await task(client, run?.id as string);
  const concurrency_key = other?.options?.concurrency_key === 'running' ? 'paused' : 'running';
  await putKey(client, q, { paused: true }, concurrency_key);
  expect(await purge(client, q, 'ready')).toMatchObject({ ready: '1', more: false });
  expect(await claim(client, q, { limit: 9 })).toEqual([]);
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
});

test('a dropped queue leaves no concurrency keys and unique keys behind', async () => {
  const q = 'left-behind';
  await enqueue(client, q, [{ concurrency_key: 'g', unique_key: 'k' }, { concurrency_key: 'g' }]);
  await client.query(`select tock.put_queue($1, '{"max_running": 5}')`, [q]);
  await promote(client);
  await complete(client, leaseOf(await claim(client, q)));
  expect(await drop(q, true)).toMatchObject([{ dropped: true }]);
  const keys = ['concurrency_keys', 'concurrency_admissions', 'unique_keys'];
  for (const table of [...keys, 'queue_limiter_state', 'waiting']) {
    const left = `select count(*)::int from tock.${table} where queue = $1`;
    expect(await value(client, left, [q]), table).toBe(0);
  }
});

test('tasks in an open transaction are claimed after it commits, also if their queue was dropped meanwhile', async () => {
  const q = queue();
  await enqueue(client, q, [{}]);
  const other = await begin();
  const [id] = await enqueue(other, q, [{ payload: 'late' }]);
  expect(await drop(q, true)).toMatchObject([{ dropped: true }]);
  await other.query('commit');
  const runs = await claim(client, q);
  expect(runs).toMatchObject([{ id, payload: 'late' }]);
  await complete(client, leaseOf(runs));
});

test('tasks that expired while waiting stay expired when their queue is purged', async () => {
  const q = queue();
  const tasks = numberedTasks(2, 0, { concurrency_key: 'g', expires_in_seconds: 0.05 });
  const ids = await enqueue(client, q, tasks);
  const states = async () => Promise.all(ids.map(async (id) => (await task(client, id))?.state));
  await expect.poll(states).toEqual(['expired', 'expired']);
  expect(await purge(client, q)).toMatchObject({ ready: '0', busy: 0, more: false });
  expect(await states()).toEqual(['expired', 'expired']);
});
