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
import { cancel, change, nothingLeft } from './wishes.ts';

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

const state = async () => {
  const { rows } = await client.query(
    "select (select count(*) from tock.claim(p_queue => 'q', p_limit => 9)) as got, tock.claim_answer() as answer",
  );
  return rows[0].answer;
};

test.each(['commit', 'rollback'])(
  'a change left open keeps a claim from putting the task off, and holds after its %s',
  async (end) => {
    const { id, worker } = await putOff();
    const open = await begin();
    await change(open, [id], { payload: 'new' });
    const other = await enqueue(client, 'q', [{ priority: 9 }]);
    // It can be neither judged nor put off: its stream is left alone, others are not.
    expect((await claim(client, 'q', { limit: 9 })).map((run) => run.id)).toEqual(other);
    expect(await state()).toBe('busy');
    await open.query(end);
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
    expect(await task(client, id)).toMatchObject({
      state: 'waiting',
      payload: end === 'commit' ? 'new' : 'sent',
    });
    await worker.query('rollback');
    await comeBack();
    const got = await claim(client, 'q', { limit: 9 });
    expect(got).toMatchObject([{ id, payload: end === 'commit' ? 'new' : 'sent', attempt: 1 }]);
    await complete(client, leaseOf(got));
    await nothingLeft(client);
    expect((await task(client, id))?.state).toBe('done');
    await expectWhole(client);
  },
);

test('a run that was changed meanwhile is not put off, and goes on as changed', async () => {
  const { id, worker } = await putOff();
  const replacement = BigInt((await task(client, id))?.runs.at(-1)?.id as string);
  await change(client, [id], { payload: 'new' });
  // As a claim does that had read its marks before the change.
  const owner = await db.connect(db.superUrl);
  await owner.query('select tock.postpone(1, $1, array[$2]::bigint[])', [
    Number(replacement & 1048575n),
    replacement >> 20n,
  ]);
  await worker.query('rollback');
  await comeBack();
  const got = await claim(client, 'q', { limit: 9 });
  expect(got).toMatchObject([{ id, payload: 'new', priority: 7 }]);
  await complete(client, leaseOf(got));
  await nothingLeft(client);
  await expectWhole(client);
});

test('a change that meets a claim which puts the task off changes what waits', async () => {
  const { id, worker } = await putOff();
  const putting = await begin();
  expect(await claim(putting, 'q', { limit: 9 })).toEqual([]);
  const changer = await db.connect();
  const pid = await pidOf(changer);
  const answer = change(changer, [id], { payload: 'new' });
  await blocked(client, pid);
  await putting.query('commit');
  expect(await answer).toEqual([{ id, state: 'waiting', changed: true }]);
  await worker.query('rollback');
  await comeBack();
  const got = await claim(client, 'q', { limit: 9 });
  expect(got).toMatchObject([{ id, payload: 'new', priority: 7 }]);
  await complete(client, leaseOf(got));
  await nothingLeft(client);
  await expectWhole(client);
});

test('a cancel left open while a claim puts the task off holds for what it became', async () => {
  const { id, worker } = await putOff();
  const open = await begin();
  expect(await cancel(open, [id])).toMatchObject([{ changed: true }]);
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await open.query('commit');
  await worker.query('rollback');
  await nothingLeft(client);
  expect((await task(client, id))?.state).toBe('cancelled');
  await expectWhole(client);
});
