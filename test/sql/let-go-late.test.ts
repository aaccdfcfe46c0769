import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { patience } from '../patience.ts';
import { expectWhole } from './audit.ts';
import { age, audit, epochs, pass, retain, settle, take } from './history.ts';
import {
  blocked,
  claim,
  complete,
  drain,
  enqueue,
  fail,
  makeDue,
  numbered,
  pidOf,
  promote,
  task,
  value,
} from './support.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((one) => one.drop())));

/** The oldest epochs go, whatever their retention; those named must be gone then. */
async function dropped(...numbers: number[]): Promise<void> {
  await settle(client);
  await age(client, '1 year');
  await retain(client);
  const left = await epochs(client);
  expect(numbers.filter((number) => left.includes(number))).toEqual([]);
}

const change = (id: string, changes: object) =>
  client.query('select * from tock.change(array[$1]::bigint[], $2)', [id, changes]);
const letGo = (epoch: number) => value<number | null>(client, 'select tock.let_go($1)', [epoch]);

describe('a change that came too late starts nothing after the epoch it meant was dropped', () => {
  /** The task is being claimed while it is changed; then it is done. */
  async function changedTooLate(changes: object): Promise<string> {
    const [id] = await enqueue(client, 'q', numbered(1));
    const worker = await db.connect();
    await worker.query('begin');
    const { lease } = await take(worker, 'q');
    await change(id as string, changes);
    await worker.query('commit');
    await complete(client, lease);
    return id as string;
  }

  test('neither what waits', async () => {
    const id = await changedTooLate({ delay_seconds: 5000 });
    await pass(client);
    await dropped(1);
    await makeDue(client, 'q');
    await promote(client);
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
    expect(await task(client, id)).toBeUndefined();
  });

  test('nor what is ready in a later epoch', async () => {
    const [id] = await enqueue(client, 'q', numbered(1));
    const worker = await db.connect();
    await worker.query('begin');
    const { lease } = await take(worker, 'q');
    await pass(client);
    await change(id as string, { priority: 9 });
    await worker.query('commit');
    await complete(client, lease);
    await pass(client);
    await dropped(1);
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  });

  test.each([false, true])(
    'nor does it end the task, which goes on with another attempt (canceled %s)',
    async (canceled) => {
      const [id] = (await enqueue(client, 'q', numbered(1))) as [string];
      const worker = await db.connect();
      await worker.query('begin');
      const { lease } = await take(worker, 'q');
      await pass(client);
      await change(id, { priority: 9 });
      if (canceled) await client.query('select tock.cancel(array[$1]::bigint[])', [id]);
      await worker.query('commit');
      await fail(client, lease, { retry_in_seconds: 0 });
      const again = await claim(client, 'q', { limit: 9 });
      expect(again).toMatchObject(canceled ? [] : [{ id, attempt: 2 }]);
      if (!canceled) await complete(client, again[0]?.lease as string);
      await expectWhole(client);
      await dropped(1);
      await expectWhole(client);
    },
  );

  test.each([{ delay_seconds: 5000 }, { priority: 6 }])(
    'nor what replaces in turn (%o) what was passed over before',
    async (changes) => {
      const [id] = (await enqueue(client, 'q', numbered(1))) as [string];
      const worker = await db.connect();
      await worker.query('begin');
      const { lease } = await take(worker, 'q');
      await pass(client);
      await change(id, { payload: 'first' });
      await change(id, changes);
      await worker.query('commit');
      await complete(client, lease);
      const behind = await enqueue(client, 'q', numbered(1));
      const passing = await take(client, 'q', 1);
      expect(passing.ids).toEqual(behind);
      await complete(client, passing.lease);
      await dropped(1);
      await makeDue(client, 'q');
      await promote(client);
      expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
    },
  );

  test('nor does the epoch go while it cannot be told', async () => {
    const [id] = (await enqueue(client, 'q', numbered(1))) as [string];
    const worker = await db.connect();
    await worker.query('begin');
    const { lease } = await take(worker, 'q');
    await pass(client);
    await change(id, { priority: 6 });
    await pass(client);
    await change(id, { delay_seconds: 5000 });
    const behind = await enqueue(client, 'q', [{ priority: 6 }]);
    const passing = await take(client, 'q');
    expect(passing.ids).toEqual(behind);
    await complete(client, passing.lease);
    await settle(client);
    await audit(client);
    while ((await letGo(2)) !== null);
    await worker.query('commit');
    await complete(client, lease);
    await dropped(1, 2);
    await makeDue(client, 'q');
    await promote(client);
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  });

  test('nor what somebody was changing when the epoch was dropped', async () => {
    const [id] = (await enqueue(client, 'q', numbered(1))) as [string];
    const other = await db.connect();
    await other.query('begin');
    await other.query('select * from tock.change(array[$1]::bigint[], $2)', [
      id,
      { delay_seconds: 5000 },
    ]);
    await complete(client, (await take(client, 'q')).lease);
    await pass(client);
    await settle(client);
    await audit(client);
    await age(client, '1 year');
    const dropper = await db.connect();
    const pid = await pidOf(dropper);
    await dropper.query('begin');
    const dropping = value<void>(dropper, 'select tock.drop_epoch(1, 0)').catch(
      (error) => error.code,
    );
    await blocked(client, pid);
    await other.query('commit');
    expect(await dropping).toBe('55P03');
    await dropper.query('rollback');
    await dropped(1);
    await makeDue(client, 'q');
    await promote(client);
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
  });

  test('nor what a claim was judging when the epoch was dropped', async () => {
    const [late] = (await enqueue(client, 'q', numbered(1))) as [string];
    const worker = await db.connect();
    await worker.query('begin');
    const { lease } = await take(worker, 'q');
    await pass(client);
    const [other] = (await enqueue(client, 'q', numbered(1))) as [string];
    await pass(client);
    await change(other, { priority: 3 });
    await change(late, { priority: 3 });
    await worker.query('commit');
    await complete(client, lease);
    await settle(client);
    await audit(client);
    await age(client, '1 year');
    await client.query('select tock.minutes()');
    // The claim has seen what is marked, and stops at the first one's judgement.
    const stop = await db.connect();
    await stop.query('begin; lock table tock.leases_2 in access exclusive mode');
    const claimer = await db.connect();
    const pid = await pidOf(claimer);
    const claiming = claim(claimer, 'q', { limit: 9 });
    await blocked(client, pid);
    await client.query(`set lock_timeout = ${patience}`);
    while ((await epochs(client)).includes(1)) await value(client, 'select tock.retain()');
    await stop.query('commit');
    expect((await claiming).map((run) => run.id)).toEqual([other]);
  });

  test('but what came in time and is ready yet does start after it', async () => {
    const [id] = await enqueue(client, 'q', numbered(1));
    await pass(client);
    const before = await enqueue(client, 'q', [{ priority: 9 }]);
    await change(id as string, { priority: 9, payload: 'changed' });
    const passing = await take(client, 'q', 1);
    expect(passing.ids).toEqual(before);
    await complete(client, passing.lease);
    await dropped(1);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
  });

  test('but what came in time does start, once', async () => {
    const [id] = await enqueue(client, 'q', numbered(1));
    await pass(client);
    await change(id as string, { priority: 9, payload: 'changed' });
    const [other] = await enqueue(client, 'q', numbered(1, 7, { priority: 0 }));
    await complete(client, (await take(client, 'q')).lease);
    await settle(client);
    await pass(client);
    const runs = (await drain(client, 'q')).flat();
    expect(runs.map((run) => [run.id, run.payload])).toEqual([[id, 'changed']]);
    expect((await task(client, other as string))?.state).toBe('done');
  });
});

test('steps of a few rows lead to the same end', async () => {
  await enqueue(client, 'q', numbered(20));
  const { lease, ids } = await take(client, 'q', 20);
  await fail(
    client,
    lease,
    ids.slice(0, 15).map((id) => ({ id, retry_in_seconds: 0 })),
  );
  await complete(client, lease);
  const again = await take(client, 'q', 20);
  await pass(client);
  await fail(client, again.lease, { retry_in_seconds: 0 });
  const third = await take(client, 'q', 20);
  expect(third.ids).toHaveLength(15);
  await settle(client);
  await audit(client, 3);
  await age(client, '1 year');
  let steps = 0;
  while ((await value<number>(client, 'select tock.let_go(1, 2)')) > 0) steps++;
  expect(steps).toBeGreaterThan(10);
  await retain(client);
  expect(await epochs(client)).not.toContain(1);
  for (const id of ids.slice(0, 15)) {
    expect(await task(client, id)).toMatchObject({ id, attempt: 3, state: 'running' });
  }
  await complete(client, third.lease);
  await expectWhole(client);
  await pass(client);
  await dropped(2);
  expect(await value(client, 'select count(*)::int from tock.promotions')).toBe(0);
});
