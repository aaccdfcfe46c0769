import { beforeEach, expect, test } from 'vitest';
import { expectInvariants } from './invariants.ts';
import { fewestPages, pages as pagesOf } from './plans.ts';
import { client, databasePerTest, db } from './test_database.ts';
import { claim, complete, drain, enqueue, fail, leaseOf, numberedTasks, value } from './verbs.ts';

// An open transaction keeps dead rows from being removed. A read from a fixed end then passes more of them each
// time. The tests compare the pages that the last and the first calls read; times would depend on the machine.

databasePerTest();
beforeEach(async () => {
  const holder = await db.connect();
  await client.query('select tock.tick()');
  await holder.query('begin isolation level repeatable read');
  await holder.query('select count(*) from tock.waiting');
});

const pages = (call: string) => pagesOf(client, call);
const fewest = (call: string) => fewestPages(client, call);

// A session reads the catalog again after changes in any database. The median of many calls, or the least of
// three, leaves these reads out.
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/**
 * Makes these calls after each step but the first `skipped`. Expects the last tenth of each to read little more than the
 * first tenth, without the first call, which plans. Returns the medians.
 */
async function expectFlat(
  rounds: number,
  step: (round: number) => Promise<unknown>,
  calls: string[],
  skipped = 0,
): Promise<number[]> {
  const all = calls.map((call) => ({ call, counts: [] as number[] }));
  for (let round = 0; round < rounds; round++) {
    await step(round);
    if (round < skipped) continue;
    for (const { call, counts } of all) counts.push(await pages(call));
  }
  return all.map(({ call, counts }) => {
    const tenth = Math.ceil(counts.length / 10);
    const first = median(counts.slice(1, 1 + tenth));
    const last = median(counts.slice(-tenth));
    expect([call, last, first, last < first * 1.3 + 20]).toEqual([call, last, first, true]);
    return median(counts);
  });
}

/** Adds due tasks to the queue q, one millisecond apart, the earliest due five minutes ago. */
async function due(count: number): Promise<void> {
  await client.query(
    `insert into tock.waiting (position, due_at, queue, priority, lane, bytes, payload)
     select nextval('tock.positions'), now() - interval '5 minutes' + n * interval '1 ms', 'q', 5, 0, 1, to_jsonb(n)
     from generate_series(1, $1) n`,
    [count],
  );
}

test('promotions, and the due check of every claim, cost the same for the last of 50,000 delayed tasks', async () => {
  await client.query("select tock.put_queue('q')");
  await due(50_000);
  // This claim checks for due tasks without promoting any: it has another queue, and no p_own_transaction.
  const calls = [
    'tock.promote(1)',
    "tock.claim('other')",
    'tock.next_wake_at()',
    "tock.claim_state('{q}')",
  ];
  const promote = () => client.query('select tock.promote(499)');
  const [, ...medians] = await expectFlat(100, promote, calls);
  expect(await value(client, 'select count(*)::integer from tock.waiting')).toBe(0);
  for (const some of medians) expect(some).toBeLessThan(100);
  // With p_own_transaction a claim also promotes and reaps. No maintenance job is late now.
  await client.query(
    'update tock.maintenance_jobs set last_started_at = clock_timestamp(), every_seconds = 86400',
  );
  expect(await fewest("tock.claim('other', p_own_transaction => true)")).toBeLessThan(100);
});

test('admissions, and the sweep for late tasks, cost the same for the last of 6,000 tasks', async () => {
  await client.query("select tock.put_queue('q')");
  await client.query(`select tock.put_concurrency_key('q', 'k', '{"paused": true}')`);
  const admit = async () => {
    await enqueue(client, 'q', numberedTasks(50, 0, { concurrency_key: 'k' }));
    await client.query('select tock.promote()');
  };
  // The first calls read fewer pages, because few tasks wait yet.
  const calls = ['tock.promote()', "tock.claim('other', p_own_transaction => true)"];
  await expectFlat(120, admit, calls, 15);
});

test('a task fails, waits and is retried at the same cost for the hundredth time', async () => {
  await client.query(`select tock.put_queue('q', '{"max_attempts": 1000}')`);
  await enqueue(client, 'q', numberedTasks(200));
  const retry = async () => {
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    await client.query('select tock.reap(p_sweep => true)');
    const runs = await claim(client, 'q', { limit: 200 });
    expect(runs).toHaveLength(200);
    await fail(client, leaseOf(runs), { retry_in_seconds: 0.000001 });
  };
  const calls = ['tock.promote(1000)', "tock.claim('q', p_limit => 1)", "tock.claim('other')"];
  await expectFlat(60, retry, calls);
  await expectInvariants(client);
});

test('the reaper resumes where it stopped, and closed leases cause no wake-up', async () => {
  await enqueue(client, 'q', numberedTasks(3000));
  // One lease for each run, as 3,000 claims would make, with deadlines in another order than the rows.
  await client.query(
    `insert into tock.leases (stream, after_position, last_position, runs, token, leased_until)
     select r.stream, r.position - 1, r.position, 1, tock.new_token(1, r.position - 1),
       now() - interval '2 hours' + ((r.position * 7919) % 5003) * interval '1 second'
     from tock.runs r`,
  );
  const nothing = 'tock.reap(p_sweep => false)';
  await client.query(
    "update tock.maintenance_jobs set reached_at = now() - interval '1 day', swept_at = clock_timestamp() where name = 'reap'",
  );
  let reaped = 0;
  for (let done = -1; done !== 0; reaped += done)
    done = await value<number>(client, `select ${nothing}`);
  expect(reaped).toBe(3000);
  expect(await fewest(nothing)).toBeLessThan(100);
  expect(await fewest('tock.next_wake_at()')).toBeLessThan(100);
  await expectInvariants(client);
});

test('a claim at a limit costs the same for the three hundredth time', async () => {
  await client.query(
    `select tock.put_queue('q', '{"max_running": 3, "rate_limit": 1000000, "backoff_base_seconds": 0}')`,
  );
  await enqueue(client, 'q', numberedTasks(700));
  await claim(client, 'q', { limit: 1 });
  // The next claim counts the open leases and stores the number.
  await client.query("update tock.queue_limiter_state set seen_at = seen_at - interval '1 minute'");
  const end = async (round: number) => {
    if (round === 0) return;
    const lease = '(select token from tock.leases where closed_at is null and runs = 2)';
    await client.query(`select tock.complete(${lease})`);
    // A claim that is rolled back leaves dead rows too.
    await client.query("begin; select tock.claim('q', p_limit => 2); rollback");
  };
  await expectFlat(300, end, ["tock.claim('q', p_limit => 2)", "tock.claim('q')"]);
  await expectInvariants(client);
});

test('empty streams of tasks with options cost a claim as little as empty plain ones', async () => {
  for (const [queue, options] of Object.entries({ plain: {}, asks: { timeout_seconds: 60 } })) {
    await client.query(`select tock.put_queue($1, '{"lanes": 64}')`, [queue]);
    const tasks = numberedTasks(300).map((task, n) => ({
      ...task,
      ...options,
      priority: n % 5,
      tenant: `t${Math.floor(n / 5)}`,
    }));
    await enqueue(client, queue, tasks);
    for (const runs of await drain(client, queue, { limit: 1000 })) {
      await complete(client, leaseOf(runs));
    }
    await enqueue(client, queue, numberedTasks(30, 0, { priority: 9 }));
  }
  const awake = (queue: string) =>
    value<number>(
      client,
      'select count(*)::integer from tock.streams where queue = $1 and priority < 5 and awake',
      [queue],
    );
  expect(await awake('asks')).toBe(await awake('plain'));
  expect(await awake('asks')).toBeGreaterThan(100);
  const expectAlike = async (rest: string) => {
    const plain = await fewest(`tock.claim('plain'${rest})`);
    const asks = await fewest(`tock.claim('asks'${rest})`);
    expect([rest, plain, asks, asks < plain * 1.05 + 10]).toEqual([rest, plain, asks, true]);
  };
  for (const rest of ['', ', p_limit => 7']) await expectAlike(rest);
  for (const queue of ['plain', 'asks']) await drain(client, queue, { limit: 1000 });
  await expectAlike('');
  await expectInvariants(client);
});
