import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { patience } from '../patience.ts';
import { expectWhole } from './audit.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  fail,
  leaseOf,
  makeDue,
  numbered,
  promote,
  rows,
  task,
} from './support.ts';
import { type Answer, cancel, change } from './wishes.ts';

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
  await other.query(`begin ${how}`);
  return other;
};

type Kind = 'cancelled' | 'put off' | 'first' | 'edited';
const kinds: Kind[] = ['cancelled', 'put off', 'first', 'edited'];
const verbs: Record<Kind, (on: pg.Client, ids: string[]) => Promise<Answer[]>> = {
  cancelled: cancel,
  'put off': (on, ids) => change(on, ids, { delay_seconds: 5000 }),
  first: (on, ids) => change(on, ids, { priority: 0 }),
  edited: (on, ids) => change(on, ids, { payload: 'edited' }),
};

type Open = { on: pg.Client; ids: Map<Kind, string[]> };

/** Tasks over priorities and lanes, 24 of them for each of 20 transactions that want something else of them. */
async function wishes(count: number): Promise<{ all: string[]; open: Open[] }> {
  const all: string[] = [];
  for (let call = 0; call < 4; call++) {
    const tasks = numbered(count / 4, 0).map((one, n) => ({
      ...one,
      tenant: `t${n % 7}`,
      priority: 4 + (n % 3),
    }));
    all.push(...(await enqueue(client, 'q', tasks)));
  }
  const open: Open[] = [];
  for (let n = 0; n < 20; n++) {
    const on = await begin();
    const mine = all.filter((_, i) => i % 20 === n).slice(0, 24);
    const ids = new Map<Kind, string[]>();
    for (const [k, kind] of kinds.entries()) {
      const some = mine.filter((_, i) => i % 4 === k);
      ids.set(kind, some);
      const answer = await verbs[kind](on, some);
      expect(answer.filter((row) => row.changed)).toHaveLength(6);
    }
    open.push({ on, ids });
  }
  return { all, open };
}

/** A worker that would rather fail than wait. */
async function impatient(): Promise<pg.Client> {
  const on = await db.connect();
  await on.query(`set lock_timeout = ${patience}`);
  return on;
}

test('changes left open in twenty transactions hold up no claim, and come too late for what it took', async () => {
  const { all, open } = await wishes(1200);
  const workers = await Promise.all([1, 2, 3, 4].map(impatient));
  const claims = await Promise.all(workers.map((on) => drain(on, 'q', { limit: 7 })));
  const got = claims.flat(2).map((run) => run.id);
  // A worker may have found every stream busy when it looked last.
  const rest = (await drain(client, 'q')).flat().map((run) => run.id);
  expect([...got, ...rest].toSorted()).toEqual(all.toSorted());
  expect(got.length).toBeGreaterThan(1000);
  for (const [n, { on }] of open.entries()) await on.query(n % 2 ? 'commit' : 'rollback');
  expect(await claim(client, 'q', { limit: 100 })).toEqual([]);
  await expectWhole(client);
  // What was committed holds for the next attempts, and nothing else.
  const leases = await rows<{ token: string }>(
    client,
    'select token from tock.leases where runs > 0',
  );
  for (const { token } of leases) await fail(client, token, { retry_in_seconds: 0 });
  const again = (await drain(client, 'q', { limit: 100 })).flat();
  const wanted = (kind: Kind) => open.filter((_, n) => n % 2).flatMap(({ ids }) => ids.get(kind));
  const [off, later] = [wanted('cancelled'), wanted('put off')];
  expect(again).toHaveLength(all.length - off.length - later.length);
  const ids = new Map(again.map((run) => [run.id, run]));
  for (const id of wanted('first')) expect(ids.get(id as string)?.priority).toBe(0);
  for (const id of wanted('edited')) expect(ids.get(id as string)?.payload).toBe('edited');
  expect(again.filter((run) => run.priority === 0)).toHaveLength(60);
  expect(again.filter((run) => run.payload === 'edited')).toHaveLength(60);
  for (const id of off) expect((await task(client, id as string))?.state).toBe('cancelled');
  for (const id of later) expect((await task(client, id as string))?.state).toBe('waiting');
  await makeDue(client, 'q');
  await promote(client);
  const last = (await drain(client, 'q')).flat().map((run) => run.id);
  expect(last.toSorted()).toEqual(later.toSorted());
  await expectWhole(client);
});

test.each(['committed', 'prepared'])(
  'what is %s beside claims holds for all that was not taken yet',
  async (how) => {
    const { all, open } = await wishes(1200);
    const worker = await impatient();
    const before = [];
    while (before.length < 500) before.push(...(await claim(worker, 'q', { limit: 20 })));
    for (const [n, { on }] of open.entries()) {
      if (how === 'prepared') await on.query(`prepare transaction '${db.name}-${n}'`);
    }
    before.push(...(await claim(worker, 'q', { limit: 20 })));
    for (const [n, { on }] of open.entries()) {
      const end = n % 2 ? 'commit' : 'rollback';
      await on.query(how === 'prepared' ? `${end} prepared '${db.name}-${n}'` : end);
    }
    const taken = new Set(before.map((run) => run.id));
    const after = (await drain(worker, 'q', { limit: 20 })).flat();
    expect(after.filter((run) => taken.has(run.id))).toEqual([]);
    const wish = new Map<string, Kind>();
    for (const { ids } of open.filter((_, n) => n % 2)) {
      for (const [kind, some] of ids) for (const id of some) wish.set(id, kind);
    }
    const left = all.filter((id) => !taken.has(id));
    const gone = left.filter((id) => ['cancelled', 'put off'].includes(wish.get(id) ?? ''));
    expect(gone.length).toBeGreaterThan(20);
    expect(after.map((run) => run.id).toSorted()).toEqual(
      left.filter((id) => !gone.includes(id)).toSorted(),
    );
    for (const run of after) {
      expect(run.priority === 0).toBe(wish.get(run.id) === 'first');
      expect(run.payload === 'edited').toBe(wish.get(run.id) === 'edited');
    }
    await expectWhole(client);
  },
);

test.each(['repeatable read', 'serializable'])(
  'changes and cancels under a %s snapshot from before a claim hold for the next attempt',
  async (level) => {
    const ids = (await enqueue(client, 'q', numbered(3))) as [string, string, string];
    const old = await begin(`isolation level ${level}`);
    await old.query('select count(*) from tock.leases');
    const lease = leaseOf(await claim(client, 'q', { limit: 3 }));
    expect(await change(old, [ids[0]], { priority: 1 })).toMatchObject([{ changed: true }]);
    expect(await change(old, [ids[2]], { delay_seconds: 600 })).toMatchObject([{ changed: true }]);
    expect(await cancel(old, [ids[1]])).toMatchObject([{ changed: true }]);
    await old.query('commit');
    expect(await claim(client, 'q', { limit: 9 })).toEqual([]);
    for (const id of ids) expect((await task(client, id))?.state).toBe('running');
    await fail(client, lease, { retry_in_seconds: 0 });
    expect(await claim(client, 'q', { limit: 9 })).toMatchObject([{ id: ids[0], priority: 1 }]);
    expect((await task(client, ids[1]))?.state).toBe('cancelled');
    expect((await task(client, ids[2]))?.state).toBe('waiting');
    await expectWhole(client);
  },
);

test.each(['repeatable read', 'serializable'])(
  'two changes of one task under %s snapshots: one holds, the other is refused',
  async (level) => {
    const [id] = (await enqueue(client, 'q', numbered(1))) as [string];
    const old = await begin(`isolation level ${level}`);
    await old.query('select count(*) from tock.leases');
    await change(client, [id], { priority: 1 });
    await expect(change(old, [id], { priority: 2 })).rejects.toMatchObject({ code: '40001' });
    await old.query('rollback');
    const got = await claim(client, 'q', { limit: 9 });
    expect(got).toMatchObject([{ id, priority: 1 }]);
    await complete(client, leaseOf(got));
    await expectWhole(client);
  },
);
