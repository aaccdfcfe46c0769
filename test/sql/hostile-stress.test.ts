import type pg from 'pg';
import { expect, test } from 'vitest';
import { dice } from './load.ts';
import { client, db, oneDatabase } from './own.ts';
import { assign, assignAll, join, offer, take, unassign } from './pools.ts';
import {
  blocked,
  complete,
  enqueue,
  expire,
  numbered,
  pidOf,
  type Run,
  rows,
  value,
} from './support.ts';

oneDatabase();

const names = (prefix: string, count: number, from = 1) =>
  Array.from({ length: count }, (_, n) => `${prefix}${n + from}`);

const call = async (on: pg.Client, random: (below: number) => number) => {
  const [pool, t, w] = [`p${random(2)}`, `t${random(60)}`, `w${random(40)}`];
  const seconds = random(3) === 0 ? 1 : 600;
  switch (random(11)) {
    case 0:
      return join(on, pool, w, { seconds });
    case 1:
      return assign(on, pool, t);
    case 2:
      return assign(on, pool, t, { worker: w, seconds });
    case 3:
      return assign(on, pool, t, { wait: true });
    case 4:
    case 5:
      return take(on, pool, w, seconds);
    case 6:
      return on.query('select tock.leave_pool($1, $2)', [pool, w]);
    case 7:
      return unassign(on, pool, t, { again: random(3) > 0 });
    case 8:
      return offer(on, pool, names('t', 5, random(55)));
    case 9:
      return assignAll(on, pool, names('t', 8, random(50)));
    default:
      return on.query("select tock.run_duty('pools', 0)");
  }
};

const refused = /^(40001|55P03|TK503|57P01|08)/;

test('30 connections, everything at once, single calls: no deadlock, and nothing is lost', async () => {
  for (const pool of ['p0', 'p1']) await offer(client, pool, names('keep', 200));
  const codes: Record<string, number> = {};
  const end = Date.now() + 25_000;
  const all = await Promise.all(Array.from({ length: 30 }, () => db.connect()));
  const fences: string[] = [];
  await Promise.all(
    all.map(async (on, n) => {
      const random = dice(n + 7);
      while (Date.now() < end) {
        try {
          const answer = (await call(on, random)) as unknown;
          const stand = answer as { state?: string; task?: string; fence?: string };
          if (stand?.state === 'taken' || stand?.state === 'assigned')
            fences.push(stand.fence as string);
        } catch (error) {
          const { code, message } = error as pg.DatabaseError;
          const key = `${code} ${message}`;
          codes[key] = (codes[key] ?? 0) + 1;
        }
      }
    }),
  );
  console.log('single calls', codes, 'holdings', fences.length);
  expect(new Set(fences).size).toBe(fences.length);
  for (const pool of ['p0', 'p1']) {
    const kept = await value<number>(
      client,
      "select count(distinct task)::int from tock.places where pool = $1 and task like 'keep%' and offered",
      [pool],
    );
    expect(kept).toBe(200);
  }
  expect(
    Object.keys(codes).filter((code) => code.startsWith('40P01') || !refused.test(code)),
  ).toEqual([]);
}, 60_000);

test('30 connections with transactions, savepoints, isolations and kills: nothing offered is lost', async () => {
  for (const pool of ['p0', 'p1']) await offer(client, pool, names('stay', 200));
  const codes: Record<string, number> = {};
  const end = Date.now() + 25_000;
  await Promise.all(
    Array.from({ length: 30 }, async (_, n) => {
      const random = dice(n + 99);
      let on = await db.connect();
      while (Date.now() < end) {
        const isolation = ['read committed', 'repeatable read', 'serializable'][random(3)];
        try {
          await on.query(`begin isolation level ${isolation}`);
          await call(on, random);
          await on.query('savepoint s');
          await call(on, random);
          if (random(2) === 0) await on.query('rollback to savepoint s');
          await call(on, random);
          if (random(20) === 0) {
            await client.query('select pg_terminate_backend($1)', [await pidOf(on)]);
            on = await db.connect();
          } else await on.query(random(3) === 0 ? 'rollback' : 'commit');
        } catch (error) {
          const { code, message } = error as pg.DatabaseError;
          const key = `${code} ${message}`;
          codes[key] = (codes[key] ?? 0) + 1;
          await on.query('rollback').catch(async () => {
            on = await db.connect();
          });
        }
      }
    }),
  );
  console.log('transactions', codes);
  for (const pool of ['p0', 'p1']) {
    const kept = await value<number>(
      client,
      "select count(distinct task)::int from tock.places where pool = $1 and task like 'stay%' and offered",
      [pool],
    );
    expect(kept).toBe(200);
  }
}, 60_000);

test('two long lists at once leave locks for others', async () => {
  for (const pool of ['l0', 'l1']) await offer(client, pool, names('t', 10000));
  const [a, b] = await Promise.all([db.connect(), db.connect()]);
  const list = (on: pg.Client, pool: string) =>
    assignAll(on, pool, names('t', 10000)).then(
      () => 'ok',
      ({ code, message }) => `${code} ${message}`,
    );
  expect(await Promise.all([list(a, 'l0'), list(b, 'l1')])).toEqual(['ok', 'ok']);
}, 60_000);

const own = (on: Pick<pg.Client, 'query'>, queue: string, worker: string) =>
  rows<Run>(on, 'select * from tock.claim_own($1, $2)', [queue, worker]);

test('claim_own beside an end that is not committed', async () => {
  await enqueue(client, 'ends', numbered(5));
  const [first] = await own(client, 'ends', 'a');
  const [open, other] = await Promise.all([db.connect(), db.connect()]);
  for (const how of ['rollback', 'commit']) {
    await open.query('begin');
    await complete(open, first?.lease as string);
    const pid = await pidOf(other);
    const next = own(other, 'ends', 'a');
    await Promise.race([blocked(client, pid), next]);
    await open.query(how);
    const [got] = await next;
    expect(got?.id === first?.id).toBe(how === 'rollback');
  }
});

test('claim_own of what is cancelled or expired gives one task', async () => {
  await enqueue(client, 'over', numbered(5));
  const [first] = await own(client, 'over', 'a');
  await client.query('select * from tock.cancel(p_ids => array[$1::bigint])', [first?.id]);
  const [again] = await own(client, 'over', 'a');
  expect(again?.id).toBe(first?.id);
  await expire(client, first?.lease as string);
  const [third] = await own(client, 'over', 'a');
  expect(third).toBeDefined();
  const open = await value<number>(
    client,
    "select count(*)::int from tock.leases where worker = 'a' and closed_at is null and leased_until > now() and stream in (select number from tock.streams where queue = 'over')",
  );
  expect(open).toBe(1);
});
