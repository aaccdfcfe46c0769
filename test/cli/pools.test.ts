import { expect, test } from 'vitest';
import { expireWorker } from '../sql/features/pools/pools.ts';
import { transports } from './transports.ts';

const { cli, connect, out: print } = transports('enqueue,claim,read,admin');

const out = (...args: string[]) => print('pool', ...args);

test('one of three workers becomes the leader, and after its death another one', async () => {
  const pool = 'lead';
  for (const worker of ['x', 'y', 'z']) {
    expect(await out('join', pool, worker, '--lease', '600')).toMatch(/^free until 20/);
  }
  const [worker, fencing_token = ''] = (await out('assign', pool, 'leader')).trim().split('\t');
  expect(worker).toBe('x');
  expect(await out('assign', pool, 'leader')).toBe(`x\t${fencing_token}\n`);
  expect(await out('join', pool, 'x', '--fencing-token', fencing_token)).toMatch(
    /^holds leader until 20/,
  );
  expect(await out('list', pool)).toMatch(
    /worker +state +task +fencing_token +until\nx +held +leader +\d+ +20.*\ny +free +- +- +20.*\nz +free/,
  );
  await expireWorker(await connect(), pool, 'x');
  const [next, later] = (await out('assign', pool, 'leader')).trim().split('\t');
  expect(next).toBe('y');
  expect(Number(later)).toBeGreaterThan(Number(fencing_token));
  const stale = await cli('pool', 'join', pool, 'x', '--fencing-token', fencing_token);
  expect(stale).toMatchObject({ code: 1, out: '' });
  expect(stale.err).toContain('Discard the work');
  expect(await out('list')).toMatch(
    new RegExp(`pool +free +held +waiting\\n(.*\\n)*${pool} +1 +1 +0`),
  );
});

test('several tasks are assigned to one worker each, as long as workers are free', async () => {
  const pool = 'all';
  for (const worker of ['x', 'y']) await out('join', pool, worker);
  expect(await out('assign', pool, 'a', 'b', 'c')).toMatch(
    /task +state +worker +fencing_token\na +assigned +x +\d+\nb +assigned +y +\d+\nc +none +- +-\n/,
  );
  expect(await cli('pool', 'assign', pool, 'a', 'b', '--wait')).toMatchObject({ code: 2 });
});

test('a worker that claims one task at a time gets the same task again', async () => {
  const queue = 'own';
  for (const payload of ['1', '2']) await cli('enqueue', queue, payload);
  const own = (...args: string[]) => cli('claim', queue, '--own', ...args);
  const first = await own('--worker', 'w', '--lease', '60');
  expect(first.out).toMatch(/^[0-9a-f-]{36}\n\d+\t1\n$/);
  expect((await own('--worker', 'w')).out).toBe(first.out);
  expect((await own('--worker', 'v')).out).toMatch(/\t2\n$/);
  expect((await own('--worker', 'u')).err).toMatch(/^Nothing to claim: empty/);
  expect(await own()).toMatchObject({ code: 2 });
  expect(await own('--worker', 'w', '--limit', '2')).toMatchObject({ code: 2 });
});

test('tasks are added, taken, unassigned and ended', async () => {
  const pool = 'take';
  expect(await out('add', pool, 'a', 'b')).toBe('2 added\n');
  const first = await out('take', pool, 'w');
  expect(first).toMatch(/^a\t\d+\n$/);
  expect(await out('take', pool, 'w')).toBe(first);
  const fencing_token = first.trim().split('\t')[1] as string;
  const unassign = (...more: string[]) => out('unassign', pool, 'a', '--fencing-token', ...more);
  expect(await unassign('1')).toBe('a is no longer assigned with fencing token 1\n');
  expect(await cli('pool', 'unassign', pool, 'never')).toMatchObject({ code: 1 });
  expect(await unassign(fencing_token, '--again')).toBe('a waits again\n');
  expect(await out('list', pool, '--waiting')).toMatch(/\n +- +waiting +a .*\n +- +waiting +b /);
  expect(await out('take', pool, 'v', '--lease', '9')).toMatch(/^b\t/);
  expect(await out('leave', pool, 'v')).toBe('v has left\n');
  expect(await cli('pool', 'leave', pool, 'v')).toMatchObject({ code: 3 });
  for (const task of ['a', 'b']) await out('unassign', pool, task);
  const empty = await cli('pool', 'take', pool, 'w');
  expect(empty).toEqual({ code: 0, out: '', err: 'Nothing: empty.\n' });
  expect((await cli('pool', 'list', pool)).err).toBe('The pool has no workers and no tasks.\n');
  expect((await cli('pool', 'assign', pool, 'c', '--wait')).err).toBe('Nothing: waiting.\n');
  const taken = JSON.parse((await cli('pool', 'take', pool, 'w', '--json')).out);
  expect(taken).toMatchObject({ state: 'taken', task: 'c', leased_until: expect.any(String) });
  expect(await out('assign', pool, 'd', '--worker', 'me')).toMatch(/^me\t\d+\n$/);
});

test.each([
  [['take', 'no pool', 'w'], 'pool'],
  [['join', 'p', 'w', '--fencing-token', 'x'], 'x is no'],
  [['add', 'p', 'x'.repeat(201)], '1 to 200 characters'],
])('%j is refused as a mistake', async (args, expected) => {
  const refused = await cli('pool', ...args);
  expect(refused).toMatchObject({ code: 2, out: '', err: expect.stringContaining(expected) });
});
