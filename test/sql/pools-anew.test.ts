import type pg from 'pg';
import { expect, test } from 'vitest';
import { client, db, oneDatabase } from './own.ts';
import { assign, join, leave, offer, standing, take, unassign, vanish } from './pools.ts';
import { blocked, pidOf } from './support.ts';

oneDatabase();

const connections = (count: number) =>
  Promise.all(Array.from({ length: count }, () => db.connect()));

test('a worker that comes anew by all doors at once has one place, and nobody an error', async () => {
  const tasks = Array.from({ length: 400 }, (_, n) => `t${n}`);
  await offer(client, 'doors', tasks);
  const all = await connections(12);
  for (let round = 0; round < 25; round++) {
    const answers = await Promise.all(
      all.map((on, n) => {
        if (n % 3 === 0) return join(on, 'doors', 'me');
        if (n % 3 === 1) return take(on, 'doors', 'me');
        return assign(on, 'doors', `own${n}`, { worker: 'me' });
      }),
    );
    const given = answers.filter(({ state }) => state === 'taken' || state === 'assigned');
    expect(given).toHaveLength(1);
    const mine = (await standing(client, 'doors')).filter(([worker]) => worker === 'me');
    expect(mine).toHaveLength(1);
    await leave(client, 'doors', 'me');
  }
  const [waiting, own] = [/^t/, /^own/].map((name) => async () => {
    const stand = await standing(client, 'doors');
    return stand.filter(([, task]) => task && name.test(task)).length;
  }) as [() => Promise<number>, () => Promise<number>];
  expect([await waiting(), await own()]).toEqual([400, 0]);
}, 60_000);

test('a task that is offered and assigned at once has one worker', async () => {
  await join(client, 'both', 'w0');
  await join(client, 'both', 'w1');
  const [open, other] = (await connections(2)) as [pg.Client, pg.Client];
  const pid = await pidOf(other);
  await open.query('begin');
  await offer(open, 'both', ['t']);
  const given = assign(other, 'both', 't');
  await blocked(client, pid);
  await open.query('commit');
  expect(await given).toMatchObject({ state: 'assigned', worker: 'w0' });
  expect(await standing(client, 'both')).toEqual([
    ['w0', 't', 'held'],
    ['w1', null, 'free'],
  ]);
  // It had been offered: without its worker it waits again.
  await leave(client, 'both', 'w0');
  expect(await standing(client, 'both')).toContainEqual([null, 't', 'waiting']);
});

test('the free worker that vanished first is passed over, and gone', async () => {
  for (const worker of ['a', 'b', 'c']) await join(client, 'gone', worker);
  await vanish(client, 'gone', 'a');
  expect(await assign(client, 'gone', 't')).toMatchObject({ state: 'assigned', worker: 'b' });
  expect(await standing(client, 'gone')).toEqual([
    ['b', 't', 'held'],
    ['c', null, 'free'],
  ]);
});

test('who is free again stands at the end, keeps its length of lease, and gets a higher fence', async () => {
  await join(client, 'again', 'a', { seconds: 900 });
  await join(client, 'again', 'b', { seconds: 900 });
  const first = await assign(client, 'again', 't');
  expect(first).toMatchObject({ worker: 'a' });
  expect(await unassign(client, 'again', 't', { fence: '1' })).toBe(false);
  expect(await unassign(client, 'again', 't', { fence: first.fence })).toBe(true);
  expect(await unassign(client, 'again', 't', { fence: first.fence })).toBe(false);
  expect(await assign(client, 'again', 't2')).toMatchObject({ worker: 'b' });
  const last = await assign(client, 'again', 't');
  expect(last).toMatchObject({ worker: 'a' });
  expect(BigInt(last.fence as string)).toBeGreaterThan(BigInt(first.fence as string));
  const seconds = ((last.leased_until as Date).getTime() - Date.now()) / 1000;
  expect(Math.abs(seconds - 900)).toBeLessThan(30);
});

test('what is ended past its lease is not free', async () => {
  await join(client, 'past', 'a');
  await assign(client, 'past', 't');
  await vanish(client, 'past', 'a');
  expect(await unassign(client, 'past', 't')).toBe(false);
  expect(await standing(client, 'past')).toEqual([]);
});

test('a worker takes under repeatable read, too, or is told to come again', async () => {
  await offer(client, 'old', ['t1', 't2']);
  const old = await db.connect();
  await old.query('begin isolation level repeatable read; select 1');
  expect(await take(old, 'old', 'mine')).toMatchObject({ state: 'taken', task: 't1' });
  await take(client, 'old', 'his');
  await expect(take(old, 'old', 'his')).rejects.toMatchObject({ code: '40001' });
  await old.query('rollback');
});
