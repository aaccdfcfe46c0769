import type pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { ageLimiter, putQueue } from './features/queue_limits/limits.ts';
import { badScans, plannerStatistics, sessionWithPlans, stopAutovacuum } from './plans.ts';
import { databasePerFile, db, client as owner } from './test_database.ts';
import {
  claim,
  complete,
  enqueue,
  extend,
  extendWithProgress,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  type Run,
  reap,
  release,
  rows,
  task,
  value,
} from './verbs.ts';

databasePerFile();
/** A session whose plans were made while the tables were nearly empty. */
let old: pg.Client;

// 100,000 runs with 30,000 of them completed, 10,000 waiting tasks, 500 open leases, 2,000 request ids.
beforeAll(async () => {
  await stopAutovacuum(owner);
  old = await db.connect(db.superUrl);
  await putQueue(owner, 'few', { max_running: 150, rate_limit: 1_000_000 });
  await enqueue(owner, 'few', numberedTasks(5000));
  expect(await claim(owner, 'few', { limit: 90 })).toHaveLength(90);
  await ageLimiter(owner, 'few');
  for (let round = 0; round < 2; round++) {
    await enqueue(old, 'hot', numberedTasks(400));
    await day(old);
  }
  const spread = (n: number) => ({ tenant: `t${n % 12}`, priority: 4 + (n % 2) });
  for (let call = 0; call < 20; call++) {
    const tasks = numberedTasks(5000).map((task, n) => ({ ...task, ...spread(n) }));
    await enqueue(owner, 'hot', tasks);
  }
  await enqueue(owner, 'hot', numberedTasks(10_000, 0, { delay_seconds: 5000 }));
  for (let call = 0; call < 300; call++) {
    const lease = leaseOf(await claim(owner, 'hot', { limit: 100 }));
    if (call % 3 === 0) await claim(owner, 'hot', { limit: 1 });
    await complete(owner, lease);
  }
  for (let call = 0; call < 500; call++) await claim(owner, 'hot', { lease_seconds: 9999 });
  await owner.query(
    `insert into tock.requests (verb, queue, request_id, digest, ids)
     select 'enqueue', 'hot', 'r' || n, n, '{1}' from generate_series(1, 2000) n`,
  );
});

/** Calls each verb once, in the order of a worker's day. */
async function day(on: pg.Client): Promise<void> {
  await enqueue(on, 'hot', numberedTasks(1, 0, { priority: 0 }));
  const request = `day-${await value(on, "select nextval('tock.positions')")}`;
  await enqueue(on, 'hot', numberedTasks(100, 0, { priority: 0 }), request);
  await enqueue(on, 'hot', numberedTasks(100, 0, { priority: 0 }), request);
  await enqueue(on, 'hot', numberedTasks(10, 0, { delay_seconds: 1000 }));
  expect(await claim(on, 'hot')).toHaveLength(1);
  const whole = await claim(on, 'hot', { limit: 100, request_id: request });
  expect(await claim(on, 'hot', { limit: 100, request_id: request })).toHaveLength(100);
  await extend(on, leaseOf(whole), 100);
  await extendWithProgress(on, leaseOf(whole), { progress: 1 });
  await extendWithProgress(on, leaseOf(whole), [{ id: whole[50]?.id, note: 'half' }]);
  await complete(on, leaseOf(whole));
  for (let round = 0; round < 2; round++) {
    const part = await claim(on, 'hot', { limit: 100 });
    const names = part.map(({ id }) => ({ id, result: 1 }));
    await complete(on, leaseOf(part), names.slice(0, 30));
    const lease = leaseOf(part);
    const again = names.slice(30, 40).map(({ id }) => ({ id, retry_in_seconds: 0 }));
    await fail(on, lease, again);
    const later = names.slice(40, 50).map(({ id }) => ({ id }));
    await fail(on, lease, later);
    await release(
      on,
      lease,
      part.slice(50, 60).map(({ id }) => id),
    );
    await complete(on, lease);
    await task(on, part[35]?.id as string);
  }
  const some = await claim(on, 'few', { limit: 40 });
  const [first, ...others] = some.map(({ id }) => ({ id }));
  await complete(on, leaseOf(some), others);
  const any = `select * from tock.claim_any(p_queues => '{few,due}', p_limit => 30, p_request_id => $1)`;
  await rows(on, any, [request]);
  const again = await rows<Run>(on, any, [request]);
  expect(again).toHaveLength(30);
  await complete(on, leaseOf(again));
  await complete(on, leaseOf(some), [first]);
  await on.query("select tock.limits(), tock.reset_limits('few')");
  await ageLimiter(on, 'few');
  await enqueue(on, 'first', numberedTasks(30, 0, { pipeline: ['first', 'second'] }));
  const going = await claim(on, 'first', { limit: 20 });
  const results = going.slice(0, 5).map(({ id }) => ({ id, result: 1, stage: 'second' }));
  for (let again = 0; again < 2; again++) {
    await complete(on, leaseOf(going), results);
    await complete(on, leaseOf(going));
  }
  await complete(on, leaseOf(await claim(on, 'second', { limit: 20 })));
  const lost = leaseOf(await claim(on, 'hot', { limit: 20 }));
  await on.query(
    'update tock.leases set leased_until = now() where token = $1 and closed_at is null',
    [lost],
  );
  // On a slow machine older leases of the history expire too.
  expect(await reap(on)).toBeGreaterThanOrEqual(20);
  await enqueue(on, 'due', numberedTasks(5, 0, { delay_seconds: 1000 }));
  await makeDue(on, 'due');
  await on.query('select tock.promote(p_limit => 10)');
  await on.query("select id from tock.claim(p_queue => 'due', p_own_transaction => true)");
  await on.query("select tock.claim_state('{hot,due}'), tock.next_wake_at()");
}

/** The statements with which a test dates rows back; no verb runs them. */
const own = /update tock\.(leases|waiting|queue_limiter_state) set (leased_until|due_at|seen_at)/;

const bounds = {
  tables:
    /^(runs|leases|results)(_\d+)?$|^(waiting|requests|promotions|progress|queue_limiter_state)$/,
  most: 3000,
  least: 100,
  own,
};

const bad = (on: pg.Client, days: number) =>
  badScans(
    on,
    async () => {
      for (let round = 0; round < days; round++) await day(on);
    },
    bounds,
  );

test('with 110,000 rows a session that planned on empty tables finds its rows by an index', async () => {
  expect(await bad(old, 2)).toEqual([]);
});

describe.each(plannerStatistics)('with 110,000 rows and %s statistics', (_, statements) => {
  test.each(['auto', 'force_generic_plan'])(
    'every statement of a verb finds its rows by an index, plans being %s',
    async (mode) => {
      const on = await sessionWithPlans(db, statements, mode);
      // Seven times: after five executions, 'auto' may change to a generic plan.
      expect(await bad(on, mode === 'auto' ? 7 : 2)).toEqual([]);
    },
  );
});
