import { describe, expect, test } from 'vitest';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  leaseOf,
  numberedTasks,
  rows,
  task,
  value,
  waitForState,
} from '../../verbs.ts';
import { completeAll } from './spawns.ts';

databasePerTest();

/** Promotes as a claim does, without the sweep, which would find a child that missed its parent's end. */
const becomesReady = (id: string) => waitForState(client, id, 'ready', false);
const childOf = async (parent: string) =>
  (await enqueue(client, 'q', [{ depends_on: [parent] }]))[0] ?? '';

/** Makes all children look as if they had waited for 50 minutes. Their next check is due now, or in 50 minutes. */
async function watchedFor50Minutes(due: 'now' | 'later'): Promise<void> {
  await client.query(
    "update tock.dependency_waits set waiting_since = now() - interval '50 minutes'",
  );
  await client.query(
    'update tock.waiting set due_at = clock_timestamp() + $1::interval where due_after_parents is not null',
    [due === 'now' ? '-1 s' : '50 minutes'],
  );
}

/** The seconds until the child's next check of its parents. */
const looksIn = (child: string) =>
  value<number>(
    client,
    'select extract(epoch from due_at - clock_timestamp())::float8 from tock.waiting where position = $1::bigint >> 20',
    [child],
  );

/** Promotes with a sweep, which reads from the lowest due time. */
const sweep = () => client.query('select tock.promote(1000, true)');

describe('a child becomes ready when its parent is done, though', () => {
  test('a check of it was open when the parent became ready', async () => {
    const [parent = ''] = await enqueue(client, 'q', [{ delay_seconds: 1000 }]);
    const child = await childOf(parent);
    await watchedFor50Minutes('now');
    const other = await begin();
    await other.query('select tock.promote()');
    await client.query('update tock.waiting set due_at = now() where due_after_parents is null');
    await sweep();
    await other.query('commit');
    expect(await completeAll('q')).toHaveLength(1);
    await becomesReady(child);
  });

  test.each(['repeatable read', 'serializable'])(
    'the parent was completed in %s by a snapshot older than the child',
    async (isolation) => {
      const other = await db.connect();
      const [parent = ''] = await enqueue(client, 'q', [{}]);
      const lease = leaseOf(await claim(client, 'q'));
      await other.query(`begin isolation level ${isolation}`);
      await other.query('select from tock.queues');
      const child = await childOf(parent);
      await watchedFor50Minutes('later');
      await complete(other, lease);
      await other.query('commit');
      await becomesReady(child);
    },
  );

  for (const [how, claimFirst] of [
    ['completed', async () => leaseOf(await claim(client, 'q'))],
    ['claimed and completed', async () => null],
  ] as const)
    test(`it was ${how} in a transaction that is open while the child begins to wait`, async () => {
      const [parent = ''] = await enqueue(client, 'q', [{}]);
      const claimed = await claimFirst();
      const other = await begin();
      await complete(other, claimed ?? leaseOf(await claim(other, 'q')));
      const child = await childOf(parent);
      await watchedFor50Minutes('now');
      await sweep();
      expect(await looksIn(child)).toBeLessThan(2);
      await other.query('commit');
      await becomesReady(child);
    });

  for (const [how, verb, queue] of [
    ['moved', "tock.move(array[$1::bigint], 'r')", 'r'],
    ['changed', 'tock.reprioritize(array[$1::bigint], 1)', 'q'],
    ['cancelled', 'tock.cancel(array[$1::bigint])', null],
  ] as const)
    test(`it was ${how} by a transaction that commits only after the child has begun to wait`, async () => {
      const [parent = ''] = await enqueue(client, 'q', [{}]);
      const other = await begin();
      await other.query(`select ${verb}`, [parent]);
      const [child = ''] = await enqueue(client, 'c', [
        { depends_on: [parent], on_parent_failure: 'run' },
      ]);
      await watchedFor50Minutes('now');
      await sweep();
      expect(await looksIn(child)).toBeLessThan(2);
      await other.query('commit');
      if (queue) await complete(client, leaseOf(await claim(client, queue)));
      await becomesReady(child);
    });

  test('nothing notified the child: the next sweep finds it', async () => {
    const [parent = ''] = await enqueue(client, 'q', [{}]);
    const child = await childOf(parent);
    await client.query('create table public.gone as select * from tock.dependency_waits');
    await client.query('delete from tock.dependency_waits');
    await completeAll('q');
    await client.query('insert into tock.dependency_waits select * from public.gone');
    await watchedFor50Minutes('later');
    for (const verb of ['tock.doctor()', "tock.why('q')"])
      expect(await rows(client, `select finding, detail from ${verb}`)).toContainEqual({
        finding: 'tasks wait although their parents have ended',
        detail: expect.stringMatching(`^1 task waits .* task ${child}, one of them, rechecks`),
      });
    await sweep();
    await becomesReady(child);
  });
});

test('a check by an older snapshot is repeated soon, as it may have missed the end', async () => {
  const [other, sweeper] = [await db.connect(), await db.connect()];
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  await other.query('begin');
  await complete(other, leaseOf(await claim(other, 'q')));
  const child = await childOf(parent);
  await watchedFor50Minutes('now');
  await sweeper.query('begin isolation level repeatable read');
  await sweeper.query('select from tock.queues');
  await other.query('commit');
  await sweeper.query('select tock.promote(1000, true)');
  await sweeper.query('commit');
  expect(await looksIn(child)).toBeLessThan(2);
});

test('a parent that ended since its last check is checked again', async () => {
  const [parent = '', open = ''] = await enqueue(client, 'q', [{}, {}]);
  await complete(client, leaseOf(await claim(client, 'q')));
  await claim(client, 'q');
  const ended = 'select array_to_json(tock.may_be_ending($1::bigint[], array[]::bigint[]))';
  expect((await value<number[]>(client, ended, [[parent, open]])).map(String)).toEqual([parent]);
});

test('promotion skips rechecks that it handled before, beside an open transaction', async () => {
  const other = await begin('isolation level repeatable read');
  await other.query('select from tock.queues');
  await client.query(
    'insert into tock.dependency_rechecks (child) select 1 from generate_series(1, 20000)',
  );
  await client.query('delete from tock.dependency_rechecks');
  const read = async () => {
    await client.query('select pg_stat_force_next_flush()');
    return value<number>(
      client,
      "select idx_tup_read::integer from pg_stat_user_indexes where indexrelname = 'dependency_rechecks_pkey'",
    );
  };
  // Without this change the sweeps of these calls would be due, and sweeps read more.
  await client.query('update tock.maintenance_jobs set last_started_at = now()');
  const before = await read();
  await client.query('select tock.promote(), tock.next_wake_at()');
  await client.query('select tock.run_late_maintenance()');
  expect((await read()) - before).toBeLessThan(10_000);
});

test('the sweep handles all rechecks when there are more than one promotion reads', async () => {
  await client.query(
    'insert into tock.dependency_rechecks (child) select 1 from generate_series(1, 15000)',
  );
  await client.query("update tock.dependency_rechecks set not_before = now() - interval '1 s'");
  for (let n = 0; n < 2; n++) await sweep();
  expect(await value(client, 'select count(*)::integer from tock.dependency_rechecks')).toBe(0);
});

test('a child of an abandoned parent checks it less and less often', async () => {
  const [parent = ''] = await enqueue(client, 'q', [{}]);
  const child = await childOf(parent);
  await watchedFor50Minutes('now');
  await sweep();
  expect(await looksIn(child)).toBeGreaterThan(1800);
});

/** The number of index scans of dependency_waits and waiting. */
async function lookups(): Promise<number> {
  await client.query('select pg_stat_force_next_flush()');
  return value<number>(
    client,
    "select sum(idx_scan)::integer from pg_stat_user_tables where relid in ('tock.dependency_waits'::regclass, 'tock.waiting'::regclass)",
  );
}

test('checks of a chain of tasks grow in proportion to its length', async () => {
  const length = 300;
  const chain = Array.from({ length }, (_, n) => ({
    name: `t${n}`,
    ...(n > 0 && { depends_on: [`t${n - 1}`] }),
  }));
  const ids = await enqueue(client, 'q', [{ ...chain[0], delay_seconds: 1000 }, ...chain.slice(1)]);
  await watchedFor50Minutes('now');
  const before = await lookups();
  await sweep();
  expect((await lookups()) - before).toBeLessThan(30 * length);
  expect((await task(client, ids.at(-1) ?? ''))?.state).toBe('waiting');
});

/** Makes every promotion execute `what` first. */
async function onTheWay(what: string): Promise<void> {
  await client.query(
    `create function public.on_the_way() returns trigger language plpgsql as $$ begin ${what}; return null; end $$;
     create trigger on_the_way before insert on tock.promotions execute function public.on_the_way()`,
  );
  // No sweep may run here. It is a maintenance job, which may fail and has no time limit.
  await client.query(
    'update tock.maintenance_jobs set last_started_at = now(), every_seconds = 86400',
  );
}

const claimAlone = () =>
  rows<{ payload: string }>(
    client,
    "select * from tock.claim(p_queue => 'q', p_own_transaction => true)",
  );

test('maintenance in a claim cannot fail the claim', async () => {
  await enqueue(client, 'q', [{ payload: 'ready' }]);
  await enqueue(client, 'q', [{ delay_seconds: 1000 }]);
  await client.query('update tock.waiting set due_at = now()');
  await onTheWay("raise exception 'a fault on the way'");
  await expect(client.query('select tock.promote()')).rejects.toThrow('a fault on the way');
  for (let n = 0; n < 40; n++)
    expect((await claimAlone()).map((run) => run.payload)).toEqual(n === 0 ? ['ready'] : []);
});

test('maintenance in a claim stops when its time is over: the next claim does the rest', async () => {
  await enqueue(client, 'q', numberedTasks(1000, 0, { delay_seconds: 1000 }));
  await client.query('update tock.waiting set due_at = now()');
  // A claim spends up to 50 ms on maintenance; each batch now takes longer.
  await onTheWay('perform pg_sleep(0.06)');
  const left = () => value<number>(client, 'select count(*)::int from tock.waiting');
  expect(await claimAlone()).toHaveLength(1);
  expect(await left()).toBe(900);
});
