import type pg from 'pg';
import { expect, test } from 'vitest';
import { begin, overlapping } from '../../kernel/sessions.ts';
import { client, databasePerFile } from '../../test_database.ts';
import { rows, value } from '../../verbs.ts';
import {
  addTasks,
  assignAll,
  assignTask,
  expireWorker,
  fill,
  joinPool,
  names,
  reapPools,
  takeTask,
} from './pools.ts';

databasePerFile();

/** Moves the cursor of a wait list above all its present members. */
const goneOn = (pool: string, line: string) =>
  client.query('select tock.save_wait_list_cursor($1, $2, nextval($3), 4, null)', [
    pool,
    line,
    'tock.pool_member_numbers',
  ]);

const start = (pool: string, line: string) =>
  value<string>(client, 'select tock.wait_list_start($1, $2)', [pool, line]);

test('assigning named tasks and workers keeps the order of the others in the wait lists', async () => {
  await addTasks(client, 'named', names('t', 600));
  await fill(client, 'named', 600);
  await client.query(
    "select tock.assign_task('named', 't' || n, 'w' || n) from generate_series(2, 400) n",
  );
  expect(await takeTask(client, 'named', 'x')).toMatchObject({ state: 'taken', task: 't1' });
  expect(await assignTask(client, 'named', 'u')).toMatchObject({ state: 'assigned', worker: 'w1' });
});

test('assign_tasks finds all free workers, above and below the cursor of the wait list', async () => {
  await fill(client, 'partly', 20);
  await goneOn('partly', 'free');
  await client.query("select tock.join_pool('partly', 'x' || n) from generate_series(1, 10) n");
  const answers = await assignAll(client, 'partly', names('t', 31));
  expect(answers.filter(({ state }) => state === 'assigned')).toHaveLength(30);
  expect(answers[30]).toMatchObject({ state: 'none' });
});

test('members below the cursor of a wait list are found, in their order', async () => {
  await fill(client, 'below', 30);
  await addTasks(client, 'below', names('t', 30));
  for (const line of ['free', 'waiting']) await goneOn('below', line);
  for (let n = 1; n <= 30; n++) {
    expect(await assignTask(client, 'below', `u${n}`)).toMatchObject({ worker: `w${n}` });
    expect(await takeTask(client, 'below', `x${n}`)).toMatchObject({ task: `t${n}` });
  }
  expect(await assignTask(client, 'below', 'u')).toMatchObject({ state: 'none' });
  expect(await takeTask(client, 'below', 'x')).toMatchObject({ state: 'empty' });
});

test('an open transaction that takes or assigns below the cursor does not block the other members there', async () => {
  await fill(client, 'hold', 5);
  await addTasks(client, 'hold', names('t', 5));
  for (const line of ['free', 'waiting']) await goneOn('hold', line);
  const open = await begin();
  expect(await takeTask(open, 'hold', 'a')).toMatchObject({ task: 't1' });
  expect(await assignTask(open, 'hold', 'u1')).toMatchObject({ worker: 'w1' });
  for (const n of [2, 3, 4, 5]) {
    expect(await takeTask(client, 'hold', `b${n}`)).toMatchObject({ task: `t${n}` });
    expect(await assignTask(client, 'hold', `u${n}`)).toMatchObject({ worker: `w${n}` });
  }
  await open.query('rollback');
  expect(await takeTask(client, 'hold', 'c')).toMatchObject({ task: 't1' });
  expect(await assignTask(client, 'hold', 'c')).toMatchObject({ worker: 'w1' });
});

test('the maintenance job moves the cursor of a wait list back to the first member, without locking members', async () => {
  await fill(client, 'behind', 3);
  const before = await start('behind', 'free');
  await goneOn('behind', 'free');
  await joinPool(client, 'behind', 'new');
  const open = await begin();
  await reapPools(open);
  const locked = await rows(
    client,
    "select worker from tock.pool_members where pool = 'behind' for update skip locked",
  );
  expect(locked).toHaveLength(4);
  await open.query('commit');
  expect(Number(await start('behind', 'free'))).toBeGreaterThan(Number(before));
  expect(await assignTask(client, 'behind', 't')).toMatchObject({ worker: 'w1' });
  const marks = "select count(*)::int from tock.wait_list_cursors where pool = 'behind'";
  expect(await value(client, marks)).toBeLessThan(6);
  // A search that takes long, on a busy machine, leaves a mark. Four of a list are kept.
  for (let n = 0; n < 3; n++) {
    await reapPools(client);
    expect(await value(client, marks)).toBe(4);
  }
});

test.each([
  ['gone', (pool: string) => assignTask(client, pool, 't')],
  ['gone2', async (pool: string) => (await assignAll(client, pool, ['t']))[0]],
])('a free worker is found behind 1,100 expired ones (%s)', async (pool, call) => {
  await fill(client, pool, 1100);
  await client.query(
    "update tock.pool_members set leased_until = now() - interval '1 second' where pool = $1",
    [pool],
  );
  await joinPool(client, pool, 'alive');
  expect(await call(pool)).toMatchObject({ state: 'assigned', worker: 'alive' });
});

test('a worker that joins while it is reaped is free afterwards', async () => {
  await joinPool(client, 'told', 'w');
  await expireWorker(client, 'told', 'w');
  const join = (on: pg.Client) => joinPool(on, 'told', 'w', { seconds: 600 });
  const [, joined] = await overlapping(reapPools, join);
  expect(Number(joined.leased_until)).toBeGreaterThan(Date.now());
  expect(await assignTask(client, 'told', 't')).toMatchObject({ state: 'assigned', worker: 'w' });
});

test('wait list cursors of empty pools are deleted, and those of other pools stay', async () => {
  await client.query(`insert into tock.wait_list_cursors (pool, line, number, reached, made_at)
    select 'old' || n, l, n * 10 + m, n, now() - interval '1 hour'
    from generate_series(1, 300) n, generate_series(1, 4) m, unnest(array['free', 'waiting']) l`);
  await joinPool(client, 'old1', 'w', { seconds: 600 });
  const left =
    "select count(distinct pool)::int from tock.wait_list_cursors where pool like 'old%'";
  await reapPools(client);
  expect(await value(client, left)).toBe(50); // a call deletes the cursors of 500 wait lists, two for each pool
  await reapPools(client);
  expect(await value(client, left)).toBe(1);
});

test('a page of a pool is full, though it starts with expired workers', async () => {
  await fill(client, 'pages', 30);
  await client.query(
    "update tock.pool_members set leased_until = now() - interval '1 second' where pool = 'pages' and worker < 'w2'",
  );
  const page = await rows(client, "select * from tock.pool('pages', p_limit => 10)");
  expect(page).toHaveLength(10);
});
