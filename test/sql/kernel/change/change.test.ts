import { expect, test } from 'vitest';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  reap,
  release,
  rows,
  task,
  value,
} from '../../verbs.ts';
import { invariantsAfterEach, leased } from '../sessions.ts';
import { change, ends, type State, states, taskInState } from './changes.ts';

databasePerFile();
invariantsAfterEach();

let count = 0;

const queue = () => `h${++count}`;
const addTask = async (q: string, options: object = {}) =>
  (await enqueue(client, q, [{ payload: 'as sent', ...options }]))[0] as string;
const soon = () => new Date(Date.now() + 3_600_000);

test.each(states)('a %s task is changed as its state allows', async (state: State) => {
  const { id, lease } = await taskInState(client, queue(), state);
  const before = await task(client, id);
  const changed = ['waiting', 'ready', 'running'].includes(state);
  const changes = { priority: 2, payload: { n: 1 } };
  expect(await change(client, [id], changes)).toEqual([{ id, state, changed }]);
  const stored = await task(client, id);
  if (!['waiting', 'ready'].includes(state)) expect(stored).toEqual(before);
  else expect(stored).toMatchObject({ id, state, attempt: 1, ...changes });
  if (state === 'running') await fail(client, lease, { retry_in_seconds: 0 });
  if (['ready', 'running'].includes(state))
    expect(await claim(client, before?.queue as string)).toMatchObject([{ id, ...changes }]);
});

test('a ready task with another priority is claimed in its new order, once', async () => {
  const q = queue();
  const ids = await enqueue(client, q, numberedTasks(6));
  await change(client, [ids[4] as string], { priority: 1 });
  await change(client, [ids[0] as string], { priority: 9 });
  const got = (await drain(client, q, { limit: 1 })).flat();
  const order = got.map((run) => `${run.payload} at ${run.priority}`);
  expect(order).toEqual(['4 at 1', '1 at 5', '2 at 5', '3 at 5', '5 at 5', '0 at 9']);
  expect(got.map((run) => run.id).toSorted()).toEqual(ids.toSorted());
  expect(await task(client, ids[4] as string)).toMatchObject({
    state: 'running',
    attempt: 1,
    runs: [{ state: 'superseded', attempt: 1, worker: null }, { attempt: 1 }],
  });
});

test('a ready task that failed and was lost before keeps its attempts', async () => {
  const q = queue();
  const id = await addTask(q);
  await fail(client, leaseOf(await claim(client, q)), { retry_in_seconds: 0 });
  await expire(client, leaseOf(await claim(client, q)));
  await reap(client);
  await change(client, [id], { priority: 2 });
  expect(await claim(client, q)).toMatchObject([{ id, priority: 2, attempt: 3 }]);
  expect(await task(client, id)).toMatchObject({ attempt: 3, lost: 1 });
});

test('a delayed ready task waits until its new time, keeps its options, and can be made ready again', async () => {
  const q = queue();
  const options = { tenant: 't', max_attempts: 3, priority: 4 };
  const id = await addTask(q, options);
  const at = soon();
  const [answer] = await change(client, [id], { run_at: at.toISOString() });
  expect(answer).toEqual({ id, state: 'ready', changed: true });
  expect(await task(client, id)).toMatchObject({ id, state: 'waiting', run_at: at, priority: 4 });
  expect(await claim(client, q)).toEqual([]);
  await change(client, [id], { delay_seconds: 60 });
  expect((await task(client, id))?.run_at?.getTime()).toBeLessThan(at.getTime());
  await change(client, [id], { delay_seconds: 0, payload: 'back' });
  const back = { id, payload: 'back', attempt: 1, ...options };
  expect(await claim(client, q, { limit: 9 })).toMatchObject([back]);
});

test('a waiting task is changed in its place: time, priority and payload', async () => {
  const q = queue();
  const id = await addTask(q, { delay_seconds: 1000 });
  const at = soon();
  await change(client, [id], { run_at: at.toISOString(), priority: 0, payload: null });
  const changed = { priority: 0, payload: null };
  expect(await task(client, id)).toMatchObject({ ...changed, run_at: at, runs: [] });
  await makeDue(client, q);
  await promote(client);
  expect(await claim(client, q)).toMatchObject([{ id, ...changed }]);
});

test('a task that is made ready leaves the promotion of earlier due tasks unchanged', async () => {
  const q = queue();
  await enqueue(client, q, numberedTasks(3, 0, { delay_seconds: 900 }));
  await makeDue(client, q);
  const id = await addTask(q, { delay_seconds: 1000 });
  await change(client, [id], { delay_seconds: 0 });
  expect(await value(client, 'select tock.promote(p_limit => 10)')).toBe(3);
  expect(await claim(client, q, { limit: 9 })).toHaveLength(4);
});

test.each(['failed', 'released', 'reaped'])(
  'a change of a running task that is %s holds for its next attempt, and that one only',
  async (how) => {
    const q = queue();
    const id = await addTask(q);
    const lease = leaseOf(await claim(client, q));
    await change(client, [id], { priority: 8 });
    await change(client, [id], { payload: 'new', run_at: '2001-01-01T00:00:00Z' });
    expect(await task(client, id)).toMatchObject({ priority: 5, payload: 'as sent' });
    await ends[how]?.(client, lease);
    const [run] = await claim(client, q);
    expect(run).toMatchObject({ id, priority: 8, payload: 'new' });
    await complete(client, run?.lease as string);
    expect(await task(client, id)).toMatchObject({ state: 'done', payload: 'new', priority: 8 });
  },
);

test('a delayed running task is retried no sooner than its delay and its backoff', async () => {
  const q = queue();
  const { ids, lease } = await leased(2, q);
  const at = soon();
  await change(client, ids, { run_at: at.toISOString() });
  await fail(client, lease, [
    { id: ids[0], retry_in_seconds: 0 },
    { id: ids[1], retry_in_seconds: 7200 },
  ]);
  expect(await task(client, ids[0] as string)).toMatchObject({ state: 'waiting', run_at: at });
  const later = (await task(client, ids[1] as string))?.run_at as Date;
  expect(later.getTime()).toBeGreaterThan(at.getTime());
});

test("a task is changed by any of its runs' ids, replaced ones too, and listed once", async () => {
  const q = queue();
  const id = await addTask(q);
  await change(client, [id], { priority: 6 });
  await change(client, [id], { priority: 7 });
  const runs = (await task(client, id))?.runs.map((run) => run.id) as string[];
  expect(runs).toHaveLength(3);
  const answer = [{ id, state: 'ready', changed: true }];
  for (const [n, run] of runs.entries())
    expect(await change(client, [run, id], { priority: n })).toEqual(answer);
  expect(await claim(client, q, { limit: 9 })).toMatchObject([{ id, priority: 2 }]);
});

test('a payload changed to null is null, in the next attempt too', async () => {
  const q = queue();
  const id = await addTask(q);
  await change(client, [id], { payload: null });
  const lease = leaseOf(await claim(client, q));
  expect((await task(client, id))?.payload).toBeNull();
  await change(client, [id], { payload: 'again' });
  await change(client, [id], { payload: null });
  await release(client, lease);
  expect(await claim(client, q)).toMatchObject([{ id, payload: null }]);
});

test('reprioritize and reschedule change with plain arguments', async () => {
  const id = await addTask(queue());
  const at = soon();
  const call = (sql: string, ...values: unknown[]) =>
    rows(client, `select * from tock.${sql}`, values);
  const answer = [{ id, state: 'ready', changed: true }];
  expect(await call('reprioritize(p_ids => $1, p_priority => $2)', [id], 0)).toEqual(answer);
  expect(await call('reschedule(p_ids => $1, p_run_at => $2)', [id], at)).toEqual(answer);
  expect(await task(client, id)).toMatchObject({ state: 'waiting', run_at: at, priority: 0 });
});

test("a session's date settings do not affect a change", async () => {
  const q = queue();
  const on = await db.connect();
  await on.query(`set datestyle = 'SQL, DMY'; set timezone = 'Asia/Kathmandu'`);
  const id = await addTask(q);
  const lease = leaseOf(await claim(client, q));
  await change(on, [id], { run_at: '2031-02-03T04:05:06Z' });
  await fail(on, lease, { retry_in_seconds: 0 });
  expect((await task(client, id))?.run_at?.toISOString()).toBe('2031-02-03T04:05:06.000Z');
});
