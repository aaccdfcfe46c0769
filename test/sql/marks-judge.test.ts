import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import {
  blocked,
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numbered,
  pidOf,
  promote,
  refusal,
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

const begin = async (how = '') => {
  const other = await db.connect();
  await other.query(`begin ${how}; select count(*) from tock.leases`);
  return other;
};

const one = async (priority = 5) =>
  (await enqueue(client, 'q', [{ payload: 'sent', priority }]))[0] as string;
const ids = (runs: { id: string }[]) => runs.map((run) => run.id);

test('what came too late to replace a run is dropped, and holds for the next attempt', async () => {
  const id = await one();
  const worker = await begin();
  const lease = leaseOf(await claim(worker, 'q'));
  expect(await change(client, [id], { priority: 3, payload: 'new' })).toMatchObject([
    { state: 'ready', changed: true },
  ]);
  await change(client, [id], { payload: 'newer' });
  await worker.query('commit');
  expect(await task(client, id)).toMatchObject({ state: 'running', payload: 'sent', priority: 5 });
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await fail(client, lease, { retry_in_seconds: 0 });
  expect(await claim(client, 'q', { limit: 9 })).toMatchObject([
    { id, attempt: 2, priority: 3, payload: 'newer' },
  ]);
  await expectWhole(client);
});

test('a run put off too late holds off its next attempt, not this one', async () => {
  const id = await one();
  const worker = await begin();
  const lease = leaseOf(await claim(worker, 'q'));
  await change(client, [id], { delay_seconds: 3600, payload: 'new' });
  await worker.query('commit');
  await fail(client, lease, { retry_in_seconds: 0 });
  const told = await task(client, id);
  expect(told).toMatchObject({ state: 'waiting', payload: 'new', attempt: 2 });
  expect((told?.run_at?.getTime() ?? 0) - Date.now()).toBeGreaterThan(3_000_000);
  await makeDue(client, 'q');
  await promote(client);
  expect(await claim(client, 'q', { limit: 9 })).toMatchObject([{ id, attempt: 2 }]);
  await expectWhole(client);
});

test('a replacement that appears between the look of a claim and its draw is judged', async () => {
  const id = await one(1);
  const [other] = await enqueue(client, 'q', numbered(1, 0, { priority: 3 }));
  const changer = await begin();
  await change(changer, [id], { priority: 3 });
  expect(ids(await claim(client, 'q'))).toEqual([id]);
  // A claim reads cursor and marks, and stops where it would write its lease.
  const holder = await begin();
  await holder.query('lock table tock.leases_1 in share mode');
  const claimer = await db.connect();
  const pid = await pidOf(claimer);
  const claiming = claim(claimer, 'q', { limit: 5 });
  await blocked(client, pid);
  await changer.query('commit');
  await holder.query('commit');
  expect([...ids(await claiming), ...ids(await claim(client, 'q'))]).toEqual([other]);
  await expectWhole(client);
});

test.each(['commit', 'rollback'])(
  "a replacement is put off while its original's stream is being claimed from, until %s",
  async (end) => {
    const id = await one();
    const worker = await begin();
    await claim(worker, 'q');
    await change(client, [id], { priority: 7 });
    const behind = await enqueue(client, 'q', numbered(3, 0, { priority: 7 }));
    expect(ids(await claim(client, 'q', { limit: 9 }))).toEqual(behind);
    const told = await task(client, id);
    expect(told).toMatchObject({ state: 'waiting', priority: 7 });
    expect((told?.run_at?.getTime() ?? 0) - Date.now()).toBeLessThanOrEqual(1000);
    // Put off again: from then on its way leads over two runs.
    await makeDue(client, 'q');
    await promote(client);
    expect(await claim(client, 'q')).toEqual([]);
    expect((await task(client, id))?.state).toBe('waiting');
    await worker.query(end);
    await makeDue(client, 'q');
    await promote(client);
    const got = await claim(client, 'q', { limit: 9 });
    if (end === 'commit') expect(got).toEqual([]);
    else expect(got).toMatchObject([{ id, priority: 7, attempt: 1 }]);
    expect((await task(client, id))?.state).toBe('running');
    await expectWhole(client);
  },
);

test('a replacement between others is put off like one before them, and lost to nobody', async () => {
  const id = await one();
  const worker = await begin();
  await claim(worker, 'q');
  const [before] = await enqueue(client, 'q', numbered(1, 0, { priority: 7 }));
  await change(client, [id], { priority: 7 });
  const [behind] = await enqueue(client, 'q', numbered(1, 1, { priority: 7 }));
  expect(ids(await claim(client, 'q', { limit: 9 }))).toEqual([before]);
  expect(ids(await claim(client, 'q', { limit: 9 }))).toEqual([behind]);
  expect((await task(client, id))?.state).toBe('waiting');
  await worker.query('rollback');
  await makeDue(client, 'q');
  await promote(client);
  expect(await claim(client, 'q', { limit: 9 })).toMatchObject([{ id, priority: 7 }]);
  await expectWhole(client);
});

test('of five changes in a row with a claim in between, the first three are one run and the others hold on', async () => {
  const id = await one();
  for (const n of [1, 2, 3]) await change(client, [id], { payload: n });
  const worker = await begin();
  const got = await claim(worker, 'q', { limit: 9 });
  expect(got).toMatchObject([{ id, payload: 3 }]);
  for (const n of [4, 5]) await change(client, [id], { payload: n, priority: n });
  await worker.query('commit');
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  const told = await task(client, id);
  expect(told?.runs.map((run) => run.state)).toEqual([
    'superseded',
    'superseded',
    'superseded',
    'running',
  ]);
  await fail(client, leaseOf(got), { retry_in_seconds: 0 });
  expect(await claim(client, 'q', { limit: 9 })).toMatchObject([{ id, payload: 5, priority: 5 }]);
  await expectWhole(client);
});

test('a task changed hundreds of times is claimed once, with the last change', async () => {
  const id = await one();
  await client.query(
    `do $$ begin
       for n in 1 .. 250 loop
         perform tock.change(array[${id}], jsonb_build_object('payload', n, 'priority', n % 10));
       end loop;
     end $$`,
  );
  const got = (await drain(client, 'q')).flat();
  expect(got).toMatchObject([{ id, payload: 250, priority: 0 }]);
  await complete(client, leaseOf(got));
  expect((await task(client, id))?.runs).toHaveLength(251);
  await expectWhole(client);
});

test.each(['repeatable read', 'serializable'])(
  'under a %s snapshot a claim does not take a replacement whose original has started since',
  async (level) => {
    const id = await one();
    const worker = await begin();
    await claim(worker, 'q');
    await change(client, [id], { priority: 3 });
    const old = await begin(`isolation level ${level}`);
    await worker.query('commit');
    expect((await refusal(claim(old, 'q'))).code).toBe('40001');
    await old.query('rollback');
    expect(await claim(old, 'q')).toEqual([]);
    await expectWhole(client);
  },
);

test.each(['repeatable read', 'serializable'])(
  'under a %s snapshot a claim does not take an original whose replacement has started since',
  async (level) => {
    const id = await one();
    await enqueue(client, 'q', numbered(3));
    const old = await begin(`isolation level ${level}`);
    await change(client, [id], { priority: 3 });
    expect(ids(await claim(client, 'q'))).toEqual([id]);
    expect((await refusal(claim(old, 'q', { limit: 2 }))).code).toBe('40001');
    await old.query('rollback');
    expect((await claim(old, 'q', { limit: 9 })).map((run) => run.payload)).toEqual([0, 1, 2]);
    await expectWhole(client);
  },
);

test('under an old snapshot a claim passes over what it sees marked, and leaves what is being changed', async () => {
  const all = await enqueue(client, 'q', numbered(6));
  await cancel(client, [all[0], all[2]] as string[]);
  const old = await begin('isolation level repeatable read');
  expect((await claim(old, 'q', { limit: 2 })).map((run) => run.payload)).toEqual([1, 3]);
  await old.query('commit; begin isolation level repeatable read');
  const changer = await begin();
  await change(changer, [all[4] as string], { priority: 9 });
  expect(await claim(old, 'q', { limit: 2 })).toEqual([]);
  await old.query('commit');
  expect((await claim(client, 'q', { limit: 1 })).map((run) => run.payload)).toEqual([4]);
  await changer.query('commit');
  expect((await drain(client, 'q')).flat().map((run) => run.payload)).toEqual([5]);
  await expectWhole(client);
});

test("a claim that goes on beside a stranger's lock keeps replacements of its runs from starting", async () => {
  const id = await one();
  const stranger = await db.connect();
  const stream = Number(BigInt(id) & 1048575n);
  await stranger.query('select pg_advisory_lock(tock.lock_space(), $1)', [stream]);
  const worker = await begin();
  expect(ids(await claim(worker, 'q'))).toEqual([id]);
  await stranger.query('select pg_advisory_unlock_all()');
  await change(client, [id], { priority: 3 });
  const behind = await enqueue(client, 'q', numbered(1, 0, { priority: 3 }));
  expect(ids(await claim(client, 'q'))).toEqual(behind);
  expect((await task(client, id))?.state).toBe('waiting');
  await worker.query('commit');
  await makeDue(client, 'q');
  await promote(client);
  expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  await expectWhole(client);
});
