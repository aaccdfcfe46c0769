import type pg from 'pg';
import { expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { seededRandom } from '../../load.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { pidOf, value, waitUntilBlocked } from '../../verbs.ts';
import {
  addTasks,
  assignAll,
  assignTask,
  expireWorker,
  fill,
  joinPool,
  leavePool,
  names,
  poolState,
  reapPools,
  takeTask,
  unassignTask,
} from './pools.ts';

databasePerFile();

const connections = (count: number) =>
  Promise.all(Array.from({ length: count }, () => db.connect()));

const countMembers = (pool: string) =>
  value<number>(client, 'select count(*)::int from tock.pool_members where pool = $1', [pool]);

test('sixteen sessions assign, unassign, send heartbeats and leave: no worker has two tasks, no task two workers', async () => {
  await fill(client, 'load', 60);
  const workers = new Map<string, string>();
  const tasks = new Map<string, string>();
  let assigned = 0;
  const runSession = async (on: pg.Client, n: number) => {
    const random = seededRandom(n + 1);
    for (let call = 0; call < 150; call++) {
      const task = `t${random(100)}`;
      const answer = await assignTask(on, 'load', task);
      if (answer.state !== 'assigned') continue;
      const worker = answer.worker as string;
      expect([workers.get(worker), tasks.get(task)]).toEqual([undefined, undefined]);
      workers.set(worker, task);
      tasks.set(task, worker);
      assigned++;
      const { fencing_token } = answer;
      expect(await joinPool(on, 'load', worker, { fencing_token, seconds: 600 })).toMatchObject({
        task,
        fencing_token,
      });
      // Now other sessions may assign this worker and this task.
      workers.delete(worker);
      tasks.delete(task);
      if (random(4) > 0) expect(await unassignTask(on, 'load', task, { fencing_token })).toBe(true);
      else expect(await leavePool(on, 'load', worker)).toBe(true);
      if (random(2) > 0) await joinPool(on, 'load', worker, { seconds: 600 });
    }
  };
  await Promise.all((await connections(16)).map(runSession));
  expect(assigned).toBeGreaterThan(200);
  const stand = await poolState(client, 'load');
  expect(stand.filter(([, , state]) => state !== 'free')).toEqual([]);
  expect(await countMembers('load')).toBe(stand.length);
});

test('800 new workers that take concurrently from 300 tasks get each task once', async () => {
  await addTasks(client, 'come', names('t', 300));
  let next = 0;
  const taken: [string, string][] = [];
  let empty = 0;
  const runSession = async (on: pg.Client) => {
    while (next < 800) {
      const worker = `w${next++}`;
      const { state, task } = await takeTask(on, 'come', worker);
      if (state === 'taken') taken.push([worker, task as string]);
      else empty++;
    }
  };
  await Promise.all((await connections(16)).map(runSession));
  expect(empty).toBe(500);
  expect(taken).toHaveLength(300);
  expect(new Set(taken.map(([worker]) => worker)).size).toBe(300);
  expect(new Set(taken.map(([, task]) => task)).size).toBe(300);
  const held = (await poolState(client, 'come')).map(([worker, task]) => `${worker} ${task}`);
  expect(held.sort()).toEqual(taken.map(([worker, task]) => `${worker} ${task}`).sort());
});

test('sixteen concurrent calls of one worker take one task', async () => {
  await addTasks(client, 'same', names('t', 20));
  const all = await connections(16);
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(all.map((on) => takeTask(on, 'same', 'me')));
    expect(answers.filter(({ state }) => state === 'taken')).toHaveLength(1);
    const tasks = new Set(answers.map(({ task, fencing_token }) => `${task} ${fencing_token}`));
    expect(tasks.size).toBe(1);
    await unassignTask(client, 'same', answers[0]?.task as string);
  }
  expect(await countMembers('same')).toBe(10);
});

test('sixteen concurrent assigns of one task elect one worker, and the others stay free', async () => {
  await fill(client, 'elect', 20);
  const all = await connections(16);
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all(all.map((on) => assignTask(on, 'elect', `t${round}`)));
    expect(answers.filter(({ state }) => state === 'assigned')).toHaveLength(1);
    const elected = new Set(answers.map((one) => `${one.worker} ${one.fencing_token}`));
    expect(elected.size).toBe(1);
  }
  const free = (await poolState(client, 'elect')).filter(([, , state]) => state === 'free');
  expect(free).toHaveLength(10);
});

test('sixteen concurrent assigns of the same tasks give each task one worker', async () => {
  await fill(client, 'lists', 260);
  const tasks = Array.from({ length: 200 }, (_, n) => `t${(n * 37) % 200}`);
  const all = await connections(16);
  const lists = await Promise.all(
    all.map((on, n) => assignAll(on, 'lists', [...tasks.slice(n * 10), ...tasks.slice(0, n * 10)])),
  );
  const assigned = lists.flat().filter(({ state }) => state === 'assigned');
  expect(new Set(assigned.map(({ task }) => task)).size).toBe(assigned.length);
  const held = (await poolState(client, 'lists')).filter(([, , state]) => state === 'held');
  expect(held).toHaveLength(assigned.length);
  for (const { task, state } of await assignAll(client, 'lists', tasks)) {
    expect([task, ['held', 'assigned'].includes(state)]).toEqual([task, true]);
  }
  expect(await countMembers('lists')).toBe(260);
});

test('concurrent assigns of named pairs: only the first for both its task and its worker is assigned', async () => {
  const pairs = new Map<string, string>();
  const runSession = async (on: pg.Client, n: number) => {
    const random = seededRandom(n + 1);
    for (let call = 0; call < 60; call++) {
      const [task, worker] = [`t${random(40)}`, `w${random(40)}`];
      const answer = await assignTask(on, 'pairs', task, { worker });
      if (answer.state !== 'assigned') continue;
      expect([pairs.has(task), [...pairs.values()].includes(worker)]).toEqual([false, false]);
      pairs.set(task, worker);
    }
  };
  await Promise.all((await connections(16)).map(runSession));
  expect(pairs.size).toBeGreaterThan(20);
  const held = (await poolState(client, 'pairs')).map(([worker, task]) => [task, worker]);
  expect(new Map(held as [string, string][])).toEqual(pairs);
});

test('an assign in an open transaction blocks only calls for the same task', async () => {
  await fill(client, 'open', 3);
  const [open, other] = (await connections(2)) as [pg.Client, pg.Client];
  await open.query('begin');
  expect(await assignTask(open, 'open', 't1')).toMatchObject({ state: 'assigned', worker: 'w1' });
  const first = await assignTask(client, 'open', 't2');
  expect(first).toMatchObject({ state: 'assigned', worker: 'w2' });
  // The uncommitted assignment neither changes the worker's row nor shows in its answers.
  expect(await joinPool(client, 'open', 'w1')).toMatchObject({ state: 'free', task: null });
  expect(await takeTask(client, 'open', 'w1')).toMatchObject({ state: 'busy', task: null });
  const pid = await pidOf(other);
  const same = assignTask(other, 'open', 't1');
  await waitUntilBlocked(client, pid);
  await open.query('commit');
  expect(await same).toMatchObject({ state: 'held', worker: 'w1' });
  // The other session had locked w3 as a candidate. That worker is still free.
  expect(await assignTask(client, 'open', 't3')).toMatchObject({ state: 'assigned', worker: 'w3' });
});

test('an assignment that is rolled back or killed leaves its worker and task free', async () => {
  await fill(client, 'undone', 1);
  await addTasks(client, 'undone', ['o']);
  const open = await begin();
  expect(await assignTask(open, 'undone', 't')).toMatchObject({ state: 'assigned', worker: 'w1' });
  expect(await assignTask(client, 'undone', 't2')).toMatchObject({ state: 'none' });
  await open.query('rollback');
  expect(await assignTask(client, 'undone', 't2')).toMatchObject({ worker: 'w1' });
  await unassignTask(client, 'undone', 't2');

  const killed = await db.connect();
  const pid = await pidOf(killed);
  await killed.query('begin');
  expect(await takeTask(killed, 'undone', 'x')).toMatchObject({ state: 'taken', task: 'o' });
  expect(await assignTask(killed, 'undone', 't3')).toMatchObject({ worker: 'w1' });
  expect(await takeTask(client, 'undone', 'y')).toMatchObject({ state: 'empty' });
  await client.query('select pg_terminate_backend($1, 5000)', [pid]);
  expect(await takeTask(client, 'undone', 'y')).toMatchObject({ state: 'taken', task: 'o' });
  expect(await assignTask(client, 'undone', 't3')).toMatchObject({ worker: 'w1' });
});

test('workers and tasks of a long transaction are found below the cursor of their wait list', async () => {
  const open = await begin();
  await joinPool(open, 'late', 'late', { seconds: 600 });
  await addTasks(open, 'late', ['late']);
  await fill(client, 'late', 5);
  await client.query(`
    do $$ begin
      for n in 1 .. 400 loop
        perform tock.assign_task('late', 't' || n), tock.unassign_task('late', 't' || n);
        perform tock.add_tasks('late', array['o' || n]), tock.take_task('late', 'x' || n);
      end loop;
    end $$`);
  const starts =
    "tock.wait_list_start('late', 'free') > 0 and tock.wait_list_start('late', 'waiting') > 0";
  expect(await value(client, `select ${starts}`)).toBe(true);
  await open.query('commit');
  for (let n = 0; n < 5; n++) {
    expect(await assignTask(client, 'late', `u${n}`)).toMatchObject({ worker: `w${n + 1}` });
  }
  expect(await assignTask(client, 'late', 'last')).toMatchObject({ worker: 'late' });
  expect(await takeTask(client, 'late', 'y')).toMatchObject({ state: 'taken', task: 'late' });
});

test('a heartbeat during a reap either keeps the assignment or answers lost', async () => {
  const [open, other] = (await connections(2)) as [pg.Client, pg.Client];
  await joinPool(client, 'reap', 'a');
  const { fencing_token } = await assignTask(client, 'reap', 't');
  await open.query('begin');
  await joinPool(open, 'reap', 'a', { fencing_token });
  await client.query('select tock.reap_pools(p_sweep => true)');
  await open.query('commit');
  expect(await poolState(client, 'reap')).toEqual([['a', 't', 'held']]);
  await expireWorker(client, 'reap', 'a');
  await open.query('begin');
  await reapPools(open);
  expect(await joinPool(other, 'reap', 'a', { fencing_token })).toMatchObject({ state: 'lost' });
  await open.query('commit');
  expect(await poolState(client, 'reap')).toEqual([]);
});

test('a call with an old snapshot gets 40001', async () => {
  await fill(client, 'old', 2);
  const old = await db.connect();
  await old.query('begin isolation level repeatable read; select 1');
  await assignTask(client, 'old', 't');
  await expect(assignTask(old, 'old', 't')).rejects.toMatchObject({ code: '40001' });
  await old.query('rollback');
});

test('a joined worker takes the next task when an open transaction has taken the first', async () => {
  await addTasks(client, 'past', ['o1', 'o2']);
  await joinPool(client, 'past', 'w');
  const open = await begin();
  expect(await takeTask(open, 'past', 'x')).toMatchObject({ task: 'o1' });
  expect(await takeTask(client, 'past', 'w')).toMatchObject({ state: 'taken', task: 'o2' });
  await open.query('rollback');
});
