import type pg from 'pg';
import { expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import { rows, value } from '../../verbs.ts';
import { addTasks, assignAll, assignTask, fill, names, poolState, takeTask } from './pools.ts';

databasePerFile();

const two = async () => (await Promise.all([db.connect(), db.connect()])) as [pg.Client, pg.Client];

test('two sessions add the same tasks in different orders, and the first order holds', async () => {
  const [a, b] = await two();
  const tasks = names('t', 500);
  const added = await Promise.all([
    addTasks(a, 'orders', tasks),
    addTasks(b, 'orders', [...tasks].reverse()),
  ]);
  expect(added.sort()).toEqual([0, 500]);
  const { task } = await takeTask(client, 'orders', 'w');
  expect(['t1', 't500']).toContain(task);
});

test('assign_tasks answers busy for a task that an open transaction assigns, without waiting', async () => {
  const [open, list] = await two();
  await fill(client, 'listed', 10);
  await addTasks(client, 'listed', names('m', 40));
  await open.query('begin');
  await assignTask(open, 'listed', 't1');
  for (const worker of names('x', 40)) await takeTask(open, 'listed', worker);
  const answers = await assignAll(list, 'listed', ['t1', ...names('m', 40), 't2', 't3']);
  expect(answers.map(({ state }) => state)).toEqual([
    'busy',
    ...Array(40).fill('waiting'),
    'assigned',
    'assigned',
  ]);
  await open.query('rollback');
  const again = await assignAll(list, 'listed', ['t1', 'm1', 't2']);
  expect(again.map(({ state }) => state)).toEqual(['assigned', 'assigned', 'held']);
});

test('assign_tasks answers busy for tasks that an open transaction adds or assigns in a list', async () => {
  const [open, list] = await two();
  await fill(client, 'offered', 20);
  await open.query('begin');
  await addTasks(open, 'offered', ['o3']);
  await assignAll(open, 'offered', ['o5']);
  const answers = await assignAll(list, 'offered', names('o', 8));
  const states = answers.map(({ state }) => state);
  expect(states.filter((state) => state === 'busy')).toHaveLength(2);
  expect([states[2], states[4]]).toEqual(['busy', 'busy']);
  expect(states.filter((state) => state === 'assigned')).toHaveLength(6);
  await open.query('commit');
  const free = (await poolState(client, 'offered')).filter(([, , state]) => state === 'free');
  expect(free).toHaveLength(13);
});

test('two assign_tasks calls do not deadlock over tasks that are waiting for one and new to the other', async () => {
  await addTasks(client, 'inverse', ['a', 'm', 'z']);
  await fill(client, 'inverse', 10);
  const [holder, other] = await two();
  await holder.query('begin');
  await assignAll(holder, 'inverse', ['a', 'm']);
  await other.query('begin');
  await other.query("select tock.unassign_task('inverse', 'z')");
  const first = assignAll(other, 'inverse', ['z', 'a']);
  const second = assignAll(holder, 'inverse', ['a', 'm', 'z']);
  expect((await first).map(({ state }) => state)).toEqual(['assigned', 'waiting']);
  await other.query('commit');
  expect((await second).map(({ state }) => state).slice(0, 2)).toEqual(['held', 'held']);
  await holder.query('commit');
});

test('assign_tasks of many waiting tasks holds few locks', async () => {
  await addTasks(client, 'many', names('t', 3000));
  await fill(client, 'many', 2000);
  const open = await begin();
  const answers = await assignAll(open, 'many', [...names('t', 3000), ...names('new', 1000)]);
  expect(answers.filter(({ state }) => state === 'assigned')).toHaveLength(2000);
  const locks = 'select count(*)::int from pg_locks where pid = $1';
  const [{ pid }] = (await rows(open, 'select pg_backend_pid() as pid')) as [{ pid: number }];
  expect(await value(client, locks, [pid])).toBeLessThan(100);
  await open.query('commit');
  // The tasks without a worker keep their places in the wait list.
  expect(await takeTask(client, 'many', 'me')).toMatchObject({ state: 'taken', task: 't2001' });
});
