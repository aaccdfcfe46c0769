import type pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import { readSql } from '../../migrate/files.ts';
import { type Database, freshDatabase } from '../database.ts';
import { expectInvariants } from '../sql/invariants.ts';
import { createSegments } from '../sql/kernel/segment/segments.ts';
import {
  complete,
  drain,
  enqueue,
  leaseOf,
  numberedTasks,
  rows,
  value,
  waitUntil,
} from '../sql/verbs.ts';
import { source, upgrade, withCopy } from './database.ts';
import { errorsByKind, type Load, newLoad, startLoad } from './load.ts';

const used: Database[] = [];

afterAll(() => Promise.all(used.map((database) => database.drop())));

// The migration locks all tables that running calls read, and changes some of them.
const number = String((readSql(source).migrations.at(-1)?.number ?? 0) + 1).padStart(4, '0');
const next = {
  [`migrations/${number}_planted.sql`]: `
    lock table tock.queues, tock.segments, tock.maintenance_jobs, tock.streams, tock.leases, tock.runs, tock.results, tock.run_overrides,
      tock.waiting, tock.promotions, tock.requests, tock.keys in access exclusive mode;
    alter table tock.leases add column planted text not null default 'x';
    alter table tock.runs add column planted text;
    create index leases_by_planted on tock.leases (planted) where closed_at is null;`,
};

/** Migrates to the version with that migration. */
const toNext = (db: Database, options: Parameters<typeof upgrade>[1]) =>
  withCopy(next, (directory) => upgrade(db.url, { directory, ...options }));

async function working(): Promise<{ db: Database; owner: pg.Client }> {
  const db = await freshDatabase();
  used.push(db);
  return { db, owner: await db.connect() };
}

const start = (db: Database, load: Load) =>
  startLoad(
    load,
    () => db.connect(db.edgeUrl),
    () => db.connect(),
  );

const goesOn = async (load: Load) => {
  const before = load.completed.size;
  await waitUntil('the load continues', async () => load.completed.size > before + 100);
};

/** Expects every accepted task to be claimed exactly once, and to be done. */
async function settle(owner: pg.Client, load: Load): Promise<void> {
  for (const queue of ['load-0', 'load-1']) {
    for (const runs of await drain(owner, queue)) {
      for (const { id } of runs) load.handed.set(id, (load.handed.get(id) ?? 0) + 1);
      expect(await complete(owner, leaseOf(runs))).toMatchObject({ completed: runs.length });
    }
  }
  const states = await rows(
    owner,
    `select t.state, count(*)::integer as tasks
     from unnest($1::bigint[]) i cross join lateral tock.task(p_id => i) t group by 1`,
    [[...load.accepted]],
  );
  expect(states).toEqual([{ state: 'done', tasks: load.accepted.size }]);
  await expectInvariants(owner);
  await owner.query(
    "select tock.run_maintenance(d.name, 0) from tock.maintenance_jobs d where d.name <> 'drop_expired_segments'",
  );
  expect(
    await rows(
      owner,
      'select name, last_error from tock.maintenance_jobs where last_error is not null',
    ),
  ).toEqual([]);
}

test('work continues during a migration that waits for a lock, across the boundaries of small segments', async () => {
  const { db, owner } = await working();
  const nearEnd = 'select max(end_position) - 200 from tock.segments';
  await owner.query(`select setval('tock.positions', (${nearEnd}))`);
  await createSegments(owner, 'p_ahead => 8, p_width => 500');
  const load = newLoad();
  const stopped = start(db, load);
  await goesOn(load);
  const reader = await db.connect();
  await reader.query('begin; select count(*) from tock.leases');
  const lines: string[] = [];
  const migrated = toNext(db, { lockSeconds: 60, log: (line) => lines.push(line) });
  await waitUntil('the migration waits', async () =>
    lines.some((line) => line.startsWith('Waiting for')),
  );
  await goesOn(load);
  await reader.query('commit');
  await migrated;
  await goesOn(load);
  load.going = false;
  await stopped;
  // Each connection may have one call that waited during the migration. The call gets 40001, or 55P03 if the
  // edge's lock_timeout ends first.
  const { passing, other } = errorsByKind(load);
  expect(other).toEqual([]);
  expect(passing.filter((what) => !/ (40001|55P03) /.test(what))).toEqual([]);
  const upgraded = [...load.errors].filter(([what]) => what.endsWith(' 40001'));
  expect(upgraded.reduce((sum, [, times]) => sum + times, 0)).toBeLessThanOrEqual(9);
  expect(load.short).toEqual([]);
  await settle(owner, load);
  expect([...load.handed].filter(([, times]) => times !== 1)).toEqual([]);
});

const inTheWay: [string, (other: pg.Client) => Promise<unknown>][] = [
  ['a transaction that has enqueued', (other) => enqueue(other, 'held', numberedTasks(2))],
  [
    'a prepared transaction',
    async (other) => {
      await enqueue(other, 'held', numberedTasks(2));
      await other.query("prepare transaction 'held'");
    },
  ],
  ['an idle reader', (other) => other.query('select count(*) from tock.runs')],
  [
    'a worker that has completed',
    (other) => other.query('select * from tock.complete(gen_random_uuid())'),
  ],
];

for (const [who, does] of inTheWay) {
  // The tests run together, because each of them mostly waits.
  test.concurrent(`beside ${who} a migration gives up, names the blocker, and can be repeated`, async () => {
    const { db, owner } = await working();
    const load = newLoad();
    const stopped = start(db, load);
    const prepared = who === 'a prepared transaction';
    const other = await db.connect(who === 'an idle reader' ? db.url : db.edgeUrl);
    await other.query("set application_name = 'sitting-there'; begin");
    await does(other);
    const pid = await value(other, 'select pg_backend_pid()');
    const state = async () => [
      await rows(owner, 'select name from tock.migrations order by number'),
      await value(
        owner,
        "select md5(string_agg(pg_get_functiondef(oid), '' order by oid)) from pg_proc where pronamespace = 'tock'::regnamespace",
      ),
    ];
    const before = await state();
    const failed = toNext(db, { lockSeconds: 2 });
    await expect(failed).rejects.toThrow(
      prepared
        ? 'Blocked by: a prepared transaction'
        : new RegExp(`Blocked by: process ${pid} \\(tock`),
    );
    await expect(failed).rejects.toThrow('Nothing was changed');
    expect(await state()).toEqual(before);
    await goesOn(load);
    expect([...load.errors.keys()]).toEqual([]);
    await other.query(prepared ? "commit prepared 'held'" : 'commit');
    expect((await toNext(db, { lockSeconds: 60 })).applied.length).toBeGreaterThan(0);
    load.going = false;
    await stopped;
    expect(errorsByKind(load).other).toEqual([]);
    for (const runs of await drain(owner, 'held')) await complete(owner, leaseOf(runs));
    await settle(owner, load);
  });
}
