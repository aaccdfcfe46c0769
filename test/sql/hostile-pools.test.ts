import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, db, oneDatabase } from './own.ts';
import { assign, assignAll, join, leave, offer, take, unassign } from './pools.ts';
import { blocked, enqueue, numbered, pidOf, type Run, rows, value } from './support.ts';

oneDatabase();

const names = (prefix: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n + from}`);

const fill = (pool: string, count: number) =>
  client.query(
    "select tock.join_pool($1, 'w' || n, 600) from generate_series(1, $2::int) n order by n",
    [pool, count],
  );

/** The answer, or the code and message of the refusal. */
const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'ok',
    ({ code, message }: { code: string; message: string }) => `${code} ${message}`,
  );

const two = async () => (await Promise.all([db.connect(), db.connect()])) as [pg.Client, pg.Client];

test('the fence of a task grows, also where an assign waited for the worker', async () => {
  const [open, slow] = await two();
  const pid = await pidOf(slow);
  await open.query('begin');
  await join(open, 'fence', 'w');
  const waiting = assign(slow, 'fence', 't', { worker: 'w' });
  await blocked(client, pid);
  await offer(client, 'fence', ['t']);
  const first = await take(client, 'fence', 'v');
  expect(first).toMatchObject({ state: 'taken', task: 't' });
  expect(await unassign(client, 'fence', 't', { fence: first.fence })).toBe(true);
  await open.query('rollback');
  const second = await waiting;
  expect(second).toMatchObject({ state: 'assigned', worker: 'w' });
  expect(Number(second.fence)).toBeGreaterThan(Number(first.fence));
});

test('the fence of a task grows, also where assign_all had it in between', async () => {
  const [open, slow] = await two();
  const pid = await pidOf(slow);
  await fill('fence2', 1);
  await open.query('begin');
  await join(open, 'fence2', 'w');
  const waiting = assign(slow, 'fence2', 't', { worker: 'w' });
  await blocked(client, pid);
  const [first] = await assignAll(client, 'fence2', ['t']);
  expect(first).toMatchObject({ state: 'assigned' });
  expect(await unassign(client, 'fence2', 't')).toBe(true);
  await open.query('rollback');
  expect(Number((await waiting).fence)).toBeGreaterThan(Number(first?.fence));
});

test('no fence is given twice after a restore, whichever verb comes first', async () => {
  await fill('restore', 2);
  const [before] = await rows<{ last_value: string }>(
    client,
    'select last_value from tock.place_numbers',
  );
  await client.query("select tock.guard(), setval('tock.identity', 7)"); // another server, as test/sql/pools.test.ts
  const given = await assign(client, 'restore', 't');
  await client.query('select tock.guard()');
  expect(Number(given.fence)).toBeGreaterThan(Number(before?.last_value) + 1000);
});

test('a sequence with a cache is seen to', async () => {
  await client.query('alter sequence tock.place_numbers cache 50');
  const [a, b] = await two();
  await offer(client, 'cache', ['t']);
  await take(a, 'cache', 'a0');
  await unassign(client, 'cache', 't', { again: true });
  const first = await take(b, 'cache', 'b');
  await unassign(client, 'cache', 't', { again: true });
  await client.query('select tock.guard()');
  const second = await take(a, 'cache', 'a');
  await client.query('alter sequence tock.place_numbers cache 1');
  expect(Number(second.fence)).toBeGreaterThan(Number(first.fence));
});

test('two that offer the same tasks in different orders both succeed', async () => {
  const [a, b] = await two();
  const tasks = names('t', 20000);
  const said = await Promise.all([
    outcome(offer(a, 'orders', tasks)),
    outcome(offer(b, 'orders', [...tasks].reverse())),
  ]);
  expect(said).toEqual(['ok', 'ok']);
});

test('one that offers what another assigns, in another order', async () => {
  const [a, b] = await two();
  await fill('orders2', 10000);
  const tasks = names('t', 10000);
  const said = await Promise.all([
    outcome(offer(a, 'orders2', [...tasks].sort().reverse())),
    outcome(assignAll(b, 'orders2', tasks)),
  ]);
  expect(said).toEqual(['ok', 'ok']);
}, 60_000);

test('two assign_all of the same tasks, some of which wait, do not stop each other', async () => {
  await offer(client, 'mixed', ['a', 'z']);
  await fill('mixed', 10);
  const [one, other] = await two();
  const open = await db.connect();
  const [onePid, otherPid] = [await pidOf(one), await pidOf(other)];
  await open.query('begin');
  await open.query("select tock.assign('mixed', 'm', 'x')");
  await offer(client, 'mixed2', ['m']);
  const first = outcome(assignAll(one, 'mixed', ['a', 'z', 'm']));
  await blocked(client, onePid);
  const second = outcome(assignAll(other, 'mixed', ['a', 'z', 'm']));
  await blocked(client, otherPid);
  await open.query('rollback');
  expect([await first, await second]).toEqual(['ok', 'ok']);
});

test('a list whose tasks were new to one and known to the other', async () => {
  await offer(client, 'inverse', ['a', 'm', 'z']);
  await fill('inverse', 10);
  const [one, other] = await two();
  const open = await db.connect();
  const [onePid, otherPid] = [await pidOf(one), await pidOf(other)];
  await open.query('begin');
  await open.query(
    "select number from tock.places where pool = 'inverse' and task = 'm' for update",
  );
  const first = outcome(assignAll(one, 'inverse', ['a', 'm', 'z'])); // has a, waits at m, then z
  await blocked(client, onePid);
  await unassign(client, 'inverse', 'z');
  const second = outcome(assignAll(other, 'inverse', ['z', 'a'])); // has z, waits for a
  await blocked(client, otherPid);
  await open.query('rollback');
  expect([await first, await second]).toEqual(['ok', 'ok']);
});

test('one task in an open transaction does not keep the workers from other tasks, nor the list from going through', async () => {
  const [open, list] = await two();
  const pid = await pidOf(list);
  await fill('listed', 10);
  await open.query('begin');
  await assign(open, 'listed', 't1');
  const listed = outcome(assignAll(list, 'listed', names('t', 9)));
  await blocked(client, pid);
  const seen = await assign(client, 'listed', 'other');
  const said = await listed;
  await open.query('rollback');
  expect([seen.state, said]).toEqual(['assigned', 'ok']);
}, 20_000);

test('10,000 tasks that wait are assigned at once', async () => {
  await offer(client, 'many', names('t', 10000));
  await fill('many', 10000);
  const started = performance.now();
  const said = await outcome(assignAll(client, 'many', names('t', 10000)));
  console.log('10,000 that wait, ms', performance.now() - started, said);
  expect(said).toBe('ok');
}, 120_000);

test('half of 10,000 tasks new, half held', async () => {
  await fill('half', 10000);
  await assignAll(client, 'half', names('t', 5000));
  const started = performance.now();
  const said = await outcome(assignAll(client, 'half', names('t', 10000)));
  console.log('half new, ms', performance.now() - started, said);
  expect(said).toBe('ok');
}, 120_000);

const own = (on: Pick<pg.Client, 'query'>, queue: string, worker: string) =>
  rows<Run>(on, 'select * from tock.claim_own($1, $2)', [queue, worker]);

test('a worker that has held its task for three days has one task', async () => {
  await enqueue(client, 'days', numbered(3));
  const [first] = await own(client, 'days', 'a');
  await client.query(
    "update tock.own_leases set claimed_at = now() - interval '3 days' where queue = 'days'",
  );
  await own(client, 'days', 'a');
  await client.query('select tock.tidy()');
  const [again] = await own(client, 'days', 'a');
  expect(again?.id).toBe(first?.id);
});

test('leave with an open transaction of its assign', async () => {
  const [open, other] = await two();
  await join(client, 'lv', 'w');
  await open.query('begin');
  await assign(open, 'lv', 't');
  const pid = await pidOf(other);
  const left = leave(other, 'lv', 'w');
  await blocked(client, pid);
  await open.query('commit');
  expect(await left).toBe(true);
  expect(await value(client, "select count(*)::int from tock.places where pool = 'lv'")).toBe(0);
});
