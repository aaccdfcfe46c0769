import type pg from 'pg';
import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { expectWhole } from '../../invariants.ts';
import { claim, complete, drain, enqueue, leaseOf, numbered, task, value } from '../../verbs.ts';
import {
  age,
  audit,
  epochs,
  nearTheEnd,
  pass,
  settle,
  settled,
  take,
  work,
} from '../segment/segments.ts';

let db: Database;
let client: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
});

afterAll(() => Promise.all(used.map((one) => one.drop())));

const keep = (queue: string, seconds: number) =>
  client.query('select tock.put_queue($1, $2)', [queue, { retention_seconds: seconds }]);
const retain = () => value<number>(client, 'select tock.retain()');
const reached = () => value<string>(client, 'select last_value from tock.positions');

/** All that has ended ended this long ago. */
async function ended(interval: string): Promise<void> {
  for (const [table, column] of [
    ['results', 'ended_at'],
    ['leases', 'closed_at'],
  ]) {
    await client.query(
      `update tock.${table} set ${column} = now() - $1::interval where ${column} is not null`,
      [interval],
    );
  }
}

test('a queue hides what ended longer than its retention ago, an epoch goes by the longest in it', async () => {
  await keep('short', 60);
  await keep('long', 86_400);
  const [short] = await work(client, 'short', 1);
  const [long] = await work(client, 'long', 1);
  const [open] = await enqueue(client, 'short', numbered(1));
  await ended('2 minutes');
  expect(await task(client, short as string)).toBeUndefined();
  expect((await task(client, long as string))?.state).toBe('done');
  expect((await task(client, open as string))?.state).toBe('ready');
  await complete(client, (await take(client, 'short')).lease);
  await pass(client);
  await settle(client);
  await audit(client);
  for (const [interval, drops] of [
    ['50 seconds', 0],
    ['2 minutes', 0],
    ['23 hours', 0],
    ['25 hours', 1],
  ] as const) {
    await age(client, interval);
    expect([interval, await retain()]).toEqual([interval, drops]);
  }
  expect(await epochs(client)).not.toContain(1);
  expect(await task(client, long as string)).toBeUndefined();
});

test('the retention that counts is the one a queue has now', async () => {
  await keep('q', 3600);
  await work(client, 'q', 2);
  await pass(client);
  await settle(client);
  await audit(client);
  await age(client, '2 hours');
  await keep('q', 86_400);
  expect(await retain()).toBe(0);
  await keep('q', 60);
  expect(await retain()).toBe(1);
});

test('a queue without a policy of its own goes by the default', async () => {
  await work(client, 'q', 1);
  await client.query("delete from tock.queues where name = 'q'");
  await keep('*', 3600);
  await pass(client);
  await settle(client);
  await audit(client);
  await age(client, '50 minutes');
  expect(await retain()).toBe(0);
  await age(client, '70 minutes');
  expect(await retain()).toBe(1);
});

describe('an epoch that has been in use for long', () => {
  const begun = (interval: string) =>
    client.query(
      `update tock.epochs set started_at = now() - $1::interval
       where number = tock.newest_epoch()`,
      [interval],
    );
  const rotate = () => client.query('select tock.rotate()');
  const epoch = () =>
    value<number>(client, 'select tock.epoch_of(last_value + 1) from tock.positions');

  test('is ended by a jump of the sequence, and nothing in it is lost', async () => {
    const before = await enqueue(client, 'q', numbered(5));
    await take(client, 'q', 2);
    await rotate();
    await begun('20 hours');
    await rotate();
    expect(await epoch()).toBe(1);
    await begun('25 hours');
    await rotate();
    expect(await epoch()).toBe(2);
    const after = await enqueue(client, 'q', numbered(5, 5));
    const runs = (await drain(client, 'q', { limit: 4 })).flat();
    expect(runs.map((run) => run.id)).toEqual([...before.slice(2), ...after]);
    await expectWhole(client);
  });

  test('lasts an eighth of the longest retention', async () => {
    await keep('q', 80 * 86_400);
    await work(client, 'q', 1);
    await rotate();
    await begun('9 days');
    await rotate();
    expect(await epoch()).toBe(1);
    await begun('11 days');
    await rotate();
    expect(await epoch()).toBe(2);
  });

  test('is left to fill up when little of it is left', async () => {
    await work(client, 'q', 1);
    await nearTheEnd(client, 1_000_000);
    await rotate();
    await begun('1 year');
    const before = await reached();
    await rotate();
    expect(await reached()).toBe(before);
  });

  test('is not ended twice, nor while nothing was ever in it', async () => {
    await work(client, 'q', 1);
    await rotate();
    await begun('1 year');
    await rotate();
    const ends = await reached();
    for (let round = 0; round < 3; round++) {
      await begun('1 year');
      await rotate();
    }
    expect(await reached()).toBe(ends);
    await value(client, "select nextval('tock.positions')");
    await begun('1 year');
    const first = await reached();
    await rotate();
    expect(await reached()).toBe(first);
  });

  test('is settled, audited and dropped like one that was filled', async () => {
    await work(client, 'q', 3);
    await rotate();
    await begun('1 year');
    await rotate();
    await work(client, 'q', 3);
    await settle(client);
    await settle(client);
    expect(await settled(client)).toEqual([1]);
    await audit(client);
    await age(client, '8 days');
    expect(await retain()).toBe(1);
    expect(await epochs(client)).not.toContain(1);
    await expectWhole(client);
  });

  test('is ended under load without a position going back or a task being lost', async () => {
    const clients = await Promise.all(Array.from({ length: 5 }, () => db.connect()));
    let writing = true;
    const given: string[] = [];
    const seen: string[] = [];
    const writers = clients.slice(0, 3).map(async (one) => {
      for (let call = 0; call < 60; call++) given.push(...(await enqueue(one, 'q', numbered(20))));
    });
    const claimers = clients.slice(3).map(async (one) => {
      for (;;) {
        const last = !writing;
        const runs = await claim(one, 'q', { limit: 40 });
        seen.push(...runs.map((run) => run.id));
        if (runs.length > 0) await complete(one, leaseOf(runs));
        else if (last) return;
      }
    });
    const end = Promise.all(writers).then(() => {
      writing = false;
    });
    let highest = 0;
    while (writing) {
      await begun('1 year');
      await rotate();
      const now = Number(await reached());
      expect(now).toBeGreaterThanOrEqual(highest);
      highest = now;
      await client.query('select tock.rest()');
    }
    await end;
    await Promise.all(claimers);
    seen.push(...(await drain(client, 'q')).flat().map((run) => run.id));
    expect(new Set(seen)).toEqual(new Set(given));
    expect(seen).toHaveLength(given.length);
    expect(await epoch()).toBeGreaterThan(3);
    await expectWhole(client);
  });
});
