import type pg from 'pg';
import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  pidOf,
  promote,
  refusal,
  row,
  rows,
  task,
  value,
  waitUntilBlocked,
} from '../../verbs.ts';
import { die, listAll } from './bulk_changes.ts';

databasePerTest();

type Row = { id: string; state: string; error: string | null; ended_at: Date | null };

const start = (queue: string, change: string, filter = {}, options = {}, request?: string) =>
  value<string>(
    client,
    `select tock.start_bulk_change(p_queue => $1, p_change => $2, p_filter => $3, p_options => $4,
       p_request_id => $5)`,
    [queue, change, JSON.stringify(filter), JSON.stringify(options), request],
  );
const look = (id: string) => row<Row>(client, 'select * from tock.bulk_changes(p_id => $1)', [id]);
const stop = (id: string) => value<string | null>(client, 'select tock.stop_bulk_change($1)', [id]);
const run = (on: pg.Client = client) =>
  value<number | null>(on, `select tock.run_maintenance('run_bulk_changes')`);
/** Does one page of up to `size` tasks, also if the next page is not due yet. */
const page = async (size: number, on: pg.Client = client) => {
  await on.query('update tock.bulk_changes set due_at = now() where due_at > now()');
  return value<number>(on, 'select tock.run_bulk_changes(p_limit => $1)', [size]);
};
const audit = () => rows(client, "select verb, detail from tock.audit_log(p_object => 'q')");
const wake = () => value<Date | null>(client, 'select tock.next_wake_at()');

test('all of 5,000 dead tasks are redriven once, although two maintenance runs race', async () => {
  await die(client, 'q', Array(5000).fill('x'));
  const id = await start('q', 'redrive', { error: 'x' }, { reason: 'mended' });
  const other = await db.connect();
  while ((await look(id)).state === 'running')
    await Promise.all([page(300), page(300, other), run(other)]);
  expect(await look(id)).toMatchObject({ state: 'done', matched: '5000', changed: '5000' });
  // The audit log has the start, and no page.
  const detail = { change: 'redrive', filter: { error: 'x' }, options: { reason: 'mended' } };
  expect(await audit()).toMatchObject([{ verb: 'start_bulk_change', detail }]);
  const again = (await drain(client, 'q', { limit: 1000 })).flat();
  expect(again).toHaveLength(5000);
  expect(new Set(again.map(({ payload }) => payload)).size).toBe(5000);
  await expectInvariants(client);
});

test('two sessions never do a page of one change at the same time', async () => {
  await die(client, 'q', Array(20).fill('x'));
  const id = await start('q', 'redrive', {}, { again: true });
  await client.query("set lock_timeout = '5s'");
  const other = await begin();
  expect(await page(10, other)).toBe(1);
  expect(await page(10)).toBe(0);
  await other.query('commit');
  expect(await page(10)).toBe(1);
  expect(await look(id)).toMatchObject({ state: 'done', changed: '20' });
});

test('a run that is killed changes nothing, and the next one goes on from the stored cursor', async () => {
  await enqueue(client, 'q', numberedTasks(30));
  const id = await start('q', 'cancel', { state: 'ready' });
  await page(10);
  const before = await look(id);
  expect(before).toMatchObject({ state: 'running', changed: '10' });
  const other = await db.connect();
  other.on('error', () => {});
  const pid = await pidOf(other);
  await other.query('begin');
  await page(10, other);
  await value(client, 'select pg_terminate_backend($1)', [pid]);
  expect(await look(id)).toEqual(before);
  while ((await look(id)).state === 'running') await page(10);
  expect(await look(id)).toMatchObject({ state: 'done', matched: '30', changed: '30' });
  expect(await listAll(client, { queue: 'q', state: 'cancelled' })).toHaveLength(30);
});

test('ready and waiting tasks get a priority, and a later one keeps its own', async () => {
  const more = (n: number, options = {}) =>
    enqueue(client, 'q', numberedTasks(n, 0, { tenant: 't', ...options }));
  await more(12);
  await more(4, { delay_seconds: 50 });
  await more(1, { tenant: 'other' });
  const id = await start('q', 'reprioritize', { tenant: 't' }, { priority: 0 });
  const later = await more(5);
  await page(3);
  await makeDue(client, 'q');
  await promote(client);
  while ((await look(id)).state === 'running') {
    await more(1);
    await page(3);
  }
  expect(await look(id)).toMatchObject({ state: 'done', matched: '16', changed: '16' });
  const changed = (await listAll(client, { queue: 'q' })).filter(({ priority }) => priority === 0);
  expect(changed).toHaveLength(16);
  expect(changed.filter((row) => later.includes(row.id))).toEqual([]);
  await expectInvariants(client);
});

test.each([
  ['ready or waiting', undefined],
  ['ready', 'ready'],
  ['waiting', 'waiting'],
])(
  'a cancel of %s tasks leaves out a task that is enqueued before its first page',
  async (_, state) => {
    const delayed = { delay_seconds: state === 'waiting' ? 50 : 0 };
    await enqueue(client, 'q', numberedTasks(4, 0, delayed));
    const id = await start('q', 'cancel', { state });
    const [later] = await enqueue(client, 'q', numberedTasks(1, 9, delayed));
    await run();
    expect(await look(id)).toMatchObject({ state: 'done', changed: '4', error: null });
    expect(await task(client, later as string)).toMatchObject({ state: state ?? 'ready' });
  },
);

test('a redrive leaves out a task that dies after its start, though its attempt began before', async () => {
  await enqueue(client, 'q', [{ payload: 'slow' }]);
  const lease = leaseOf(await claim(client, 'q'));
  const [dead] = await die(client, 'q', ['x']);
  const id = await start('q', 'redrive');
  await fail(client, lease, { fatal: true, error: 'x' });
  await run();
  expect(await look(id)).toMatchObject({ state: 'done', changed: '1' });
  expect(await listAll(client, { state: 'dead', rerun: true })).toMatchObject([{ id: dead }]);
});

test('a bulk change that is stopped goes no further, and what it has changed stays', async () => {
  await enqueue(client, 'q', numberedTasks(10));
  const id = await start('q', 'cancel');
  await page(4);
  expect(await stop(id)).toBe('stopped');
  const stopped = { verb: 'stop_bulk_change', detail: { id: Number(id) } };
  expect((await audit())[0]).toMatchObject(stopped);
  expect(await page(4)).toBe(0);
  expect(await stop(id)).toBe('stopped');
  const now = await look(id);
  expect(now).toMatchObject({ state: 'stopped', changed: '4', error: null });
  expect(now.ended_at).not.toBeNull();
  expect((await drain(client, 'q')).flat()).toHaveLength(6);
  expect(await stop('4711')).toBeNull();
});

test('a page that meets a lock is tried again until the lock is gone', async () => {
  const [locked] = await enqueue(client, 'q', numberedTasks(3, 0, { delay_seconds: 50 }));
  await enqueue(client, 'r', numberedTasks(2));
  const id = await start('q', 'cancel');
  const free = await start('r', 'cancel');
  const other = await begin();
  await other.query('select from tock.waiting where position = $1::bigint >> 20 for update', [
    locked,
  ]);
  await client.query("set lock_timeout = '10ms'");
  for (let n = 0; n < 7; n++) {
    await client.query('update tock.bulk_changes set due_at = now()');
    await run();
  }
  const now = await look(id);
  expect(now).toMatchObject({ state: 'running', changed: '0' });
  expect(now.error).toMatch(/^55P03 /);
  expect(await look(free)).toMatchObject({ state: 'done', changed: '2' });
  await other.query('commit');
  await page(100);
  expect(await look(id)).toMatchObject({ state: 'done', changed: '3', error: null });
});

test('a bulk change fails after five failed pages in a row', async () => {
  await die(client, 'q', ['x']);
  const id = await start('q', 'redrive');
  await client.query(`alter table tock.reruns add constraint broken check (false) not valid`);
  for (let n = 0; n < 4; n++) await page(100);
  expect(await look(id)).toMatchObject({ state: 'running', changed: '0' });
  expect((await look(id)).error).toMatch(/^23514 .*broken/);
  expect(Number(await wake())).toBeGreaterThan(Date.now() + 5000);
  await page(100);
  expect(await look(id)).toMatchObject({ state: 'failed', changed: '0' });
  expect((await look(id)).ended_at).not.toBeNull();
  expect(await page(100)).toBe(0);
  const failures = "select failures from tock.maintenance_jobs where name = 'run_bulk_changes'";
  expect(await value(client, failures)).toBe(0);
});

test('a page that runs out of time is tried again with fewer tasks, after the other changes', async () => {
  await enqueue(client, 'q', numberedTasks(5001));
  await enqueue(client, 'r', numberedTasks(1));
  const id = await start('q', 'cancel', { state: 'ready' });
  const other = await start('r', 'cancel');
  // As a timeout would, at the first task of the page.
  await client.query(`create function tock.out_of_time() returns trigger language plpgsql as $$
    begin raise exception 'out of time' using errcode = 'query_canceled'; end $$;
    create trigger out_of_time before insert on tock.run_overrides
      for each row execute function tock.out_of_time()`);
  // The job records that it was cancelled.
  expect(await run()).toBeNull();
  await client.query('drop trigger out_of_time on tock.run_overrides');
  const now = await look(id);
  expect(now).toMatchObject({ state: 'running', changed: '0' });
  expect(now.error).toMatch(/^57014 /);
  await run();
  expect(await look(other)).toMatchObject({ state: 'done', changed: '1' });
  await client.query('update tock.bulk_changes set due_at = now()');
  await run();
  expect(await look(id)).toMatchObject({ changed: '1250', error: null });
});

test('two changes take turns, and a page of a reprioritize has at most 1,000 tasks', async () => {
  for (const queue of ['q', 'r']) await enqueue(client, queue, numberedTasks(1001));
  const ids = [];
  for (const queue of ['q', 'r']) ids.push(await start(queue, 'reprioritize', {}, { priority: 0 }));
  for (const _ of ids) await run();
  for (const id of ids) expect(await look(id)).toMatchObject({ state: 'running', changed: '1000' });
});

test('each tick goes on with a bulk change, and next_wake_at() says now while one is running', async () => {
  await enqueue(client, 'q', numberedTasks(3));
  expect(await value(client, 'select tock.tick()')).toBeNull();
  const id = await start('q', 'cancel');
  expect((await wake())?.getTime()).toBeLessThanOrEqual(Date.now());
  expect(await value(client, 'select tock.tick()')).toBeNull();
  expect(await look(id)).toMatchObject({ state: 'done', changed: '3' });
});

test('a start with the same request id returns the same change', async () => {
  await enqueue(client, 'q', numberedTasks(3));
  const id = await start('q', 'cancel', {}, {}, 'r');
  await run();
  expect(await start('q', 'cancel', {}, {}, 'r')).toBe(id);
  expect(await value(client, 'select count(*)::int from tock.bulk_changes()')).toBe(1);
  const refused = await refusal(start('q', 'redrive', {}, {}, 'r'));
  expect(refused).toMatchObject({ code: 'TK422', detail: 'request_id' });
});

test('an invalid argument is refused at once with its field', async () => {
  const calls: [field: string, ...call: Parameters<typeof start>][] = [
    ['queue', '*', 'cancel'],
    ['change', 'q', 'purge'],
    ['state', 'q', 'cancel', { state: 'dead' }],
    ['error', 'q', 'cancel', { error: 'e' }],
    ['priority', 'q', 'cancel', {}, { priority: 1 }],
    ['priority', 'q', 'reprioritize'],
    ['priority', 'q', 'reprioritize', {}, { priority: 10 }],
    ['again', 'q', 'redrive', {}, { again: 'yes' }],
    ['reason', 'q', 'redrive', {}, { reason: '' }],
    ['queue', 'q', 'redrive', {}, { to_queue: 'a b' }],
  ];
  for (const [detail, ...call] of calls)
    expect(await refusal(start(...call)), `${call}`).toMatchObject({ code: 'TK422', detail });
  expect(await value(client, 'select count(*)::int from tock.bulk_changes()')).toBe(0);
});

test('a drop of the queue waits for a page before it locks anything else', async () => {
  await enqueue(client, 'q', numberedTasks(2, 0, { delay_seconds: 50 }));
  const id = await start('q', 'cancel');
  const other = await begin();
  await other.query('select from tock.bulk_changes where id = $1 for update', [id]);
  const pid = await pidOf(client);
  const dropping = value(client, `select dropped from tock.drop_queue('q', true)`);
  await waitUntilBlocked(other, pid, dropping);
  expect(await rows(other, 'select position from tock.waiting for update nowait')).toHaveLength(2);
  await other.query('commit');
  expect(await dropping).toBe(true);
  expect(await look(id)).toMatchObject({ state: 'stopped', error: 'the queue was dropped' });
});

test('ended bulk changes are deleted after 30 days, and running ones stay', async () => {
  await stop(await start('q', 'cancel'));
  const [recent, running] = [await start('q', 'cancel'), await start('q', 'cancel')];
  await stop(recent);
  await client.query(
    "update tock.bulk_changes set created_at = now() - interval '31 days', ended_at = ended_at - interval '31 days' where id <> $1",
    [recent],
  );
  await client.query('select tock.prune()');
  const left = await rows<Row>(client, 'select * from tock.bulk_changes()');
  expect(left.map((row) => row.id)).toEqual([running, recent]);
});
