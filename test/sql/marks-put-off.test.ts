import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import {
  blocked,
  claim,
  complete,
  enqueue,
  leaseOf,
  makeDue,
  pidOf,
  promote,
  task,
} from './support.ts';
import { cancel, change } from './wishes.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((one) => one.drop())));

const begin = async () => {
  const other = await db.connect();
  await other.query('begin');
  return other;
};

const one = async (options: object = {}) =>
  (await enqueue(client, 'q', [{ payload: 'sent', ...options }]))[0] as string;

const nothingLeft = async () => {
  for (let round = 0; round < 3; round++) {
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
    await makeDue(client, 'q');
    await promote(client);
  }
};

/** A task whose replacement a claim would put off, as the original's stream is being claimed from. */
async function putOff() {
  const id = await one();
  const worker = await begin();
  await claim(worker, 'q');
  await change(client, [id], { priority: 7 });
  return { id, worker };
}

const comeBack = async () => {
  await makeDue(client, 'q');
  await promote(client);
};

test('a change left open while a claim puts the task off holds, as long as it waits', async () => {
  const { id, worker } = await putOff();
  const open = await begin();
  await change(open, [id], { payload: 'new' });
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await open.query('commit');
  await expectWhole(client);
  expect(await task(client, id)).toMatchObject({ state: 'ready', payload: 'new' });
  // What is put off is decided on when it is promoted.
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  expect(await change(client, [id], { priority: 1 })).toMatchObject([{ changed: true }]);
  await worker.query('rollback');
  await comeBack();
  const got = await claim(client, 'q', { limit: 9 });
  expect(got).toMatchObject([{ id, payload: 'new', priority: 1, attempt: 1 }]);
  await complete(client, leaseOf(got));
  await nothingLeft();
  expect((await task(client, id))?.state).toBe('done');
  await expectWhole(client);
});

test('a change left open until what was put off is back comes too late, and doubles nothing', async () => {
  const { id, worker } = await putOff();
  const open = await begin();
  await change(open, [id], { payload: 'late' });
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await worker.query('rollback');
  await comeBack();
  await open.query('commit');
  await expectWhole(client);
  const got = await claim(client, 'q', { limit: 9 });
  expect(got).toMatchObject([{ id, payload: 'sent', priority: 7 }]);
  await complete(client, leaseOf(got));
  await nothingLeft();
  expect((await task(client, id))?.state).toBe('done');
  await expectWhole(client);
});

test('a change that finds the task back from being put off changes what it became', async () => {
  const { id, worker } = await putOff();
  const open = await begin();
  await change(open, [id], { priority: 8 });
  const changer = await db.connect();
  const pid = await pidOf(changer);
  const answer = change(changer, [id], { payload: 'kept' });
  await blocked(client, pid);
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await worker.query('rollback');
  await comeBack();
  await open.query('rollback');
  expect(await answer).toEqual([{ id, state: 'ready', changed: true }]);
  const got = await claim(client, 'q', { limit: 9 });
  expect(got).toMatchObject([{ id, payload: 'kept', priority: 7 }]);
  await nothingLeft();
  await expectWhole(client);
});

test('a cancel left open while a claim puts the task off holds for what it became', async () => {
  const { id, worker } = await putOff();
  const open = await begin();
  expect(await cancel(open, [id])).toMatchObject([{ changed: true }]);
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await open.query('commit');
  await worker.query('rollback');
  await nothingLeft();
  expect((await task(client, id))?.state).toBe('cancelled');
  await expectWhole(client);
});
