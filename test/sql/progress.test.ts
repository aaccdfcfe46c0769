import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectWhole } from './audit.ts';
import { age, pass, retain, settle } from './history.ts';
import {
  blocked,
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numbered,
  pidOf,
  promote,
  reap,
  refusal,
  rows,
  type TaskRow,
  task,
  tell,
  value,
} from './support.ts';

let db: Database;
let client: pg.Client;
let queues = 0;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(async () => {
  await expectWhole(client);
  await db.drop();
});

/** Running tasks in one lease. */
async function leased(count: number, options: object = {}) {
  const queue = `q${++queues}`;
  const ids = await enqueue(client, queue, numbered(count, 0, options));
  const runs = await claim(client, queue, { limit: count, worker: 'w' });
  expect(runs).toHaveLength(count);
  return { queue, lease: leaseOf(runs), ids, id: ids[0] as string };
}

const look = async (id: string | undefined) => (await task(client, id as string)) as TaskRow;
const shown = async (id: string | undefined) => {
  const { progress, note } = await look(id);
  return [progress, note];
};
const kept = () => value<number>(client, 'select count(*)::int from tock.progress');

describe.each([
  ['plain tasks', {}],
  ['tasks with options', { backoff: { kind: 'fixed' } }],
])('of %s', (_, options) => {
  test('a worker says how far one run is, and what it says last holds', async () => {
    const { lease, ids } = await leased(3, options);
    const told = await tell(client, lease, [{ id: ids[1], progress: 40, note: 'halfway, nearly' }]);
    expect(told).toMatchObject({ refused: [] });
    expect(await shown(ids[1])).toEqual([40, 'halfway, nearly']);
    expect((await look(ids[1])).runs).toMatchObject([{ progress: 40, note: 'halfway, nearly' }]);
    expect(await shown(ids[0])).toEqual([null, null]);
    await tell(client, lease, [{ id: ids[1], progress: 33.333 }]);
    expect(await shown(ids[1])).toEqual([33.33, null]);
    await tell(client, lease, [
      { id: ids[1], note: '' },
      { id: ids[2], progress: 0 },
    ]);
    expect(await shown(ids[1])).toEqual([null, '']);
    expect(await shown(ids[2])).toEqual([0, null]);
  });

  test('what is said of all runs and what of one: the newer holds', async () => {
    const { lease, ids } = await leased(2, options);
    await tell(client, lease, { progress: 10, note: 'all' });
    for (const id of ids) expect(await shown(id)).toEqual([10, 'all']);
    await tell(client, lease, [{ id: ids[1], progress: 20 }]);
    expect(await shown(ids[0])).toEqual([10, 'all']);
    expect(await shown(ids[1])).toEqual([20, null]);
    await tell(client, lease, { progress: 30 });
    for (const id of ids) expect(await shown(id)).toEqual([30, null]);
  });

  test('what is said of the first run of a lease is not of the others', async () => {
    const queue = `q${++queues}`;
    await enqueue(client, queue, numbered(4, 0, options));
    await claim(client, queue, { limit: 2 });
    // It begins right after the one before: what is for all of it goes by its first run's position.
    const runs = await claim(client, queue, { limit: 2 });
    await tell(client, leaseOf(runs), [{ id: runs[0]?.id, progress: 50 }]);
    expect(await shown(runs[0]?.id)).toEqual([50, null]);
    expect(await shown(runs[1]?.id)).toEqual([null, null]);
  });
});

test('what is said of all is one row a stream, however many runs there are', async () => {
  const queue = `q${++queues}`;
  const ids = await enqueue(client, queue, numbered(1000));
  const runs = await claim(client, queue, { limit: 1000 });
  const before = await kept();
  expect(await tell(client, leaseOf(runs), { progress: 7 })).toMatchObject({ runs: 1000 });
  expect(await kept()).toBe(before + 1);
  for (const n of [0, 1, 500, 999]) expect(await shown(ids[n])).toEqual([7, null]);
});

test('of a lease over many streams all runs are told of, and no run of another lease', async () => {
  const queue = `q${++queues}`;
  const tasks = numbered(60).map((one, n) => ({ ...one, priority: n % 4, tenant: `t${n % 10}` }));
  await enqueue(client, queue, tasks);
  const mine = await claim(client, queue, { limit: 40 });
  const others = await claim(client, queue, { limit: 40 });
  expect(new Set(mine.map(({ lease }) => lease)).size).toBe(1);
  await tell(client, leaseOf(mine), { progress: 5 });
  for (const { id } of mine) expect(await shown(id)).toEqual([5, null]);
  for (const { id } of others) expect(await shown(id)).toEqual([null, null]);
});

test('the next attempt begins anew, and how far the one before came stays', async () => {
  const { queue, lease, id } = await leased(1);
  await tell(client, lease, [{ id, progress: 60, note: 'uploading' }]);
  await fail(client, lease, { error: 'disk full' });
  expect(await look(id)).toMatchObject({ state: 'waiting', progress: null, note: null });
  await makeDue(client, queue);
  await promote(client);
  const [run] = await claim(client, queue);
  expect(await shown(id)).toEqual([null, null]);
  // A retried run goes by its own id and by its task's, and what is said of the first of them stands.
  const twice = [
    { id: run?.run_id, progress: 1 },
    { id, progress: 2 },
  ];
  expect(await tell(client, run?.lease as string, twice)).toMatchObject({ refused: [] });
  expect(await shown(id)).toEqual([1, null]);
  await tell(client, run?.lease as string, [{ id, progress: 3 }]);
  await complete(client, run?.lease as string);
  expect(await look(id)).toMatchObject({
    state: 'done',
    progress: null,
    runs: [
      { state: 'failed', progress: 60, note: 'uploading' },
      { state: 'done', progress: 3, note: null },
    ],
  });
});

test('a worker whose lease is over says nothing more', async () => {
  const { queue, lease, ids } = await leased(2);
  await tell(client, lease, [{ id: ids[0], progress: 10 }]);
  await expire(client, lease);
  await reap(client);
  const runs = await claim(client, queue, { limit: 2 });
  const before = await rows(client, 'select * from tock.progress order by position, of_all');
  for (const stale of [{ progress: 99 }, ids.map((id) => ({ id, progress: 99 }))]) {
    expect(await tell(client, lease, stale)).toBeUndefined();
  }
  await complete(client, leaseOf(runs));
  expect(await tell(client, leaseOf(runs), { progress: 99 })).toBeUndefined();
  expect(await rows(client, 'select * from tock.progress order by position, of_all')).toEqual(
    before,
  );
  expect((await look(ids[0])).runs).toMatchObject([{ progress: 10 }, { progress: null }]);
});

test("what has ended and what is another's is refused, the rest is kept", async () => {
  const { lease, ids } = await leased(3);
  const foreign = (await leased(1)).id;
  await complete(client, lease, [{ id: ids[0] }]);
  const told = [ids[0], ids[1], foreign, '1'].map((id) => ({ id, progress: 50 }));
  expect(await tell(client, lease, told)).toMatchObject({ refused: [ids[0], foreign, '1'] });
  expect((await look(ids[0])).runs[0]?.progress).toBeNull();
  expect(await shown(ids[1])).toEqual([50, null]);
  expect(await shown(foreign)).toEqual([null, null]);
  // A stream of which all has ended is closed; the lease goes on with its others.
  const queue = `q${++queues}`;
  await enqueue(client, queue, [{ priority: 1 }, { priority: 2 }]);
  const [one, two] = await claim(client, queue, { limit: 2 });
  expect(one?.lease).toBe(two?.lease);
  await complete(client, one?.lease as string, [{ id: one?.id }]);
  await tell(client, one?.lease as string, { progress: 9 });
  expect((await look(one?.id)).runs).toMatchObject([{ state: 'done', progress: null }]);
  expect(await shown(two?.id)).toEqual([9, null]);
});

test('of a run that is being completed nothing is kept afterwards', async () => {
  const { lease, ids } = await leased(2);
  const worker = await db.connect();
  await worker.query('begin');
  await complete(worker, lease, [{ id: ids[0], result: 1 }]);
  const [before, pid] = [await kept(), await pidOf(client)];
  const late = tell(client, lease, [{ id: ids[0], progress: 99 }]);
  await blocked(worker, pid);
  await worker.query('commit');
  expect(await late).toMatchObject({ refused: [ids[0]] });
  expect(await kept()).toBe(before);
});

test('eight who say something of one lease at once all come through', async () => {
  const { lease, ids } = await leased(20);
  const clients = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  await Promise.all(
    clients.map(async (one, n) => {
      for (let round = 0; round < 10; round++) {
        const some = ids.toSorted(() => Math.random() - 0.5).map((id) => ({ id, progress: n }));
        expect(await tell(one, lease, n % 4 ? some : { progress: n })).toMatchObject({
          refused: [],
        });
      }
    }),
  );
  for (const id of ids) expect((await shown(id))[0]).toBeLessThan(8);
});

test('saying it again writes no index', async () => {
  const { lease, id } = await leased(1);
  await tell(client, lease, [{ id, progress: 0 }]);
  const counted = async () => {
    const [row] = await rows<{ all: number; hot: number }>(
      client,
      `select pg_stat_get_xact_tuples_updated('tock.progress'::regclass)::int as all,
         pg_stat_get_xact_tuples_hot_updated('tock.progress'::regclass)::int as hot`,
    );
    return row ?? { all: 0, hot: 0 };
  };
  await client.query('begin');
  const before = await counted();
  for (let n = 0; n < 10; n++) await tell(client, lease, [{ id, progress: n, note: `step ${n}` }]);
  const after = await counted();
  await client.query('commit');
  expect([after.all - before.all, after.hot - before.hot]).toEqual([10, 10]);
});

test('in an epoch that is over it is as before, and goes with the epoch', async () => {
  await pass(client);
  const first = await leased(1);
  await tell(client, first.lease, { progress: 1 });
  const { lease, id } = await leased(1);
  await pass(client);
  const { id: other, lease: open } = await leased(1);
  await tell(client, open, { progress: 5 });
  await tell(client, lease, [{ id, progress: 2, note: 'late' }]);
  expect(await shown(id)).toEqual([2, 'late']);
  expect(await shown(first.id)).toEqual([1, null]);
  await complete(client, lease);
  await complete(client, first.lease);
  const ends = await value<string[]>(
    client,
    'select array_agg(first_position order by number) from tock.epochs',
  );
  expect(ends.length).toBeGreaterThan(3);
  // Whatever was left running in earlier tests.
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 hour' where closed_at is null and token <> $1",
    [open],
  );
  await client.query(`select tock.put_queue(name, '{"max_lost": 1}') from tock.queues`);
  await reap(client);
  await settle(client);
  await age(client, '8 days');
  await retain(client);
  await client.query(`select tock.put_queue(name, '{"max_lost": 10}') from tock.queues`);
  expect(await task(client, id)).toBeUndefined();
  expect(await shown(other)).toEqual([5, null]);
  expect(
    await rows(
      client,
      `select p.position from tock.progress p
       where not exists (select from tock.runs r where r.position = p.position and r.stream = p.stream)`,
    ),
  ).toEqual([]);
  expect(await kept()).toBe(1);
  await complete(client, open);
});

test('erasing a task takes its notes, and those that were for all of a lease', async () => {
  const { lease, ids, id } = await leased(2);
  await tell(client, lease, { note: 'secret of both' });
  await tell(client, lease, [{ id, progress: 3, note: 'secret' }]);
  const other = await leased(1);
  await tell(client, other.lease, { note: 'kept' });
  await complete(client, lease);
  await client.query('select tock.erase($1)', [id]);
  expect((await look(id)).runs).toMatchObject([{ progress: 3, note: null }]);
  expect((await look(ids[1])).runs).toMatchObject([{ note: null }]);
  expect(await shown(other.id)).toEqual([null, 'kept']);
});

describe('progress is refused with the name of the field for', () => {
  test.each([
    ['a number', 5, 'progress'],
    ['an empty list', [], 'progress'],
    ['an empty object', {}, 'progress'],
    ['nothing said', [{ id: '1' }], 'progress[0]'],
    ['nothing but null', { progress: null, note: null }, 'progress'],
    ['an unknown key', { percent: 5 }, 'progress'],
    ['an id beside all', { id: '1', progress: 5 }, 'progress'],
    ['no object', [5], 'progress[0]'],
    ['no id', [{ progress: 5 }], 'progress[0].id'],
    ['an id twice', [1, 1].map((id) => ({ id: `${id}`, progress: 5 })), 'progress[1].id'],
    ['below 0', { progress: -1 }, 'progress.progress'],
    ['above 100', [{ id: '1', progress: 100.01 }], 'progress[0].progress'],
    ['progress that is a text', { progress: '50' }, 'progress.progress'],
    ['a note that is a number', { note: 5 }, 'progress.note'],
    ['a long note', [{ id: '1', note: 'x'.repeat(501) }], 'progress[0].note'],
  ])('%s', async (_, progress, field) => {
    const { lease, id } = await leased(1);
    const refused = await refusal(tell(client, lease, progress));
    expect(refused).toMatchObject({ code: 'TK422', detail: field });
    expect(await shown(id)).toEqual([null, null]);
  });

  test('a note of 500 characters, of whatever alphabet, is no mistake', async () => {
    const { lease, id } = await leased(1);
    const note = '🚀я'.repeat(250);
    await tell(client, lease, { progress: 100, note });
    expect(await shown(id)).toEqual([100, note]);
  });
});
