import type pg from 'pg';
import { expect, test } from 'vitest';
import { conditionTimeout } from '../../../timeout.ts';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import { claim, drain, enqueue, fail, rows, task } from '../../verbs.ts';
import { begin, invariantsAfterEach, spreadTasks } from '../sessions.ts';
import { cancel } from './changes.ts';

databasePerTest();
invariantsAfterEach();

type Open = { on: pg.Client; ids: string[] };

/** Enqueues tasks over priorities and lanes. Each of 20 open transactions cancels 24 of them. */
async function cancels(count: number): Promise<{ all: string[]; open: Open[] }> {
  const all: string[] = [];
  for (let call = 0; call < 4; call++)
    all.push(...(await enqueue(client, 'q', spreadTasks(count / 4, 3, 7, 4))));
  const open: Open[] = [];
  for (let n = 0; n < 20; n++) {
    const on = await begin();
    const ids = all.filter((_, i) => i % 20 === n).slice(0, 24);
    expect((await cancel(on, ids)).filter((row) => row.changed)).toHaveLength(24);
    open.push({ on, ids });
  }
  return { all, open };
}

/** A worker whose statements fail instead of waiting long for a lock. */
async function impatient(): Promise<pg.Client> {
  const on = await db.connect();
  await on.query(`set lock_timeout = ${conditionTimeout}`);
  return on;
}

test('open cancels in twenty transactions block no claim, and come too late for leased runs', async () => {
  const { all, open } = await cancels(1200);
  const workers = await Promise.all([1, 2, 3, 4].map(impatient));
  const claims = await Promise.all(workers.map((on) => drain(on, 'q', { limit: 7 })));
  const got = claims.flat(2).map((run) => run.id);
  // In a worker's last claim all streams may have been locked by others.
  const rest = (await drain(client, 'q')).flat().map((run) => run.id);
  expect([...got, ...rest].toSorted()).toEqual(all.toSorted());
  expect(got.length).toBeGreaterThan(1000);
  for (const [n, { on }] of open.entries()) await on.query(n % 2 ? 'commit' : 'rollback');
  expect(await claim(client, 'q', { limit: 100 })).toEqual([]);
  await expectInvariants(client);
  // The committed cancels, and only these, hold for the next attempts.
  const leases = await rows(client, 'select token from tock.leases where runs > 0');
  for (const { token } of leases) await fail(client, String(token), { retry_in_seconds: 0 });
  const again = (await drain(client, 'q', { limit: 100 })).flat().map((run) => run.id);
  const off = open.filter((_, n) => n % 2).flatMap(({ ids }) => ids);
  expect(again.toSorted()).toEqual(all.filter((id) => !off.includes(id)).toSorted());
  for (const id of off) expect((await task(client, id))?.state).toBe('cancelled');
});

test.each(['committed', 'prepared'])(
  'a cancel that is %s beside claims holds for all runs that were not leased yet',
  async (how) => {
    const { all, open } = await cancels(1200);
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
    const after = (await drain(worker, 'q', { limit: 20 })).flat().map((run) => run.id);
    const off = open.filter((_, n) => n % 2).flatMap(({ ids }) => ids);
    const left = all.filter((id) => !taken.has(id));
    expect(left.filter((id) => off.includes(id)).length).toBeGreaterThan(20);
    expect(after.toSorted()).toEqual(left.filter((id) => !off.includes(id)).toSorted());
  },
);
