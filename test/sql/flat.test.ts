import type pg from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { expectInvariants } from './invariants.ts';
import { claim, complete, drain, enqueue, fail, leaseOf, numberedTasks, value } from './verbs.ts';

// An open transaction keeps dead rows from being removed. A read from a fixed end then passes more of them each
// time. The tests compare the pages that the last and the first calls read; times would depend on the machine.
let db: Database;
let client: pg.Client;
let holder: pg.Client;
const used: Database[] = [];

beforeEach(async () => {
  db = await freshDatabase();
  used.push(db);
  client = await db.connect();
  holder = await db.connect();
  await client.query('select tock.tick()');
  await holder.query('begin isolation level repeatable read');
  await holder.query('select count(*) from tock.waiting');
});

afterAll(() => Promise.all(used.map((database) => database.drop())));

type Plan = { 'Shared Hit Blocks': number; 'Shared Read Blocks': number };

/** The number of pages that a call and all functions in it read. */
async function pages(call: string): Promise<number> {
  const [{ Plan: plan }] = await value<[{ Plan: Plan }]>(
    client,
    `explain (analyze, buffers, timing off, format json) select ${call}`,
  );
  return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
}

// A session reads the catalog again after changes in any database. The median of many calls, or the least of
// three, leaves these reads out.
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

async function fewest(call: string): Promise<number> {
  return Math.min(await pages(call), await pages(call), await pages(call));
}

/**
 * Expects the last tenth of the calls to read little more than the first tenth, without the first call, which
 * plans.
 */
function expectFlat(what: string, counts: number[]): void {
  const tenth = Math.ceil(counts.length / 10);
  const first = median(counts.slice(1, 1 + tenth));
  const last = median(counts.slice(-tenth));
  expect([what, last, first, last < first * 1.3 + 20]).toEqual([what, last, first, true]);
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
  const promoting: number[] = [];
  const looking: number[] = [];
  const waking: number[] = [];
  const asking: number[] = [];
  for (let call = 0; call < 100; call++) {
    await client.query('select tock.promote(499)');
    promoting.push(await pages('tock.promote(1)'));
    // This claim checks for due tasks without promoting any: it has another queue, and no p_own_transaction.
    looking.push(await pages("tock.claim('other')"));
    waking.push(await pages('tock.next_wake_at()'));
    asking.push(await pages("tock.claim_state('{q}')"));
  }
  expect(await value(client, 'select count(*)::integer from tock.waiting')).toBe(0);
  expectFlat('promote(1)', promoting);
  for (const [what, counts] of Object.entries({ looking, waking, asking })) {
    expectFlat(what, counts);
    expect(median(counts)).toBeLessThan(100);
  }
  // With p_own_transaction a claim also promotes and reaps. No maintenance job is late now.
  await client.query(
    'update tock.maintenance_jobs set last_started_at = clock_timestamp(), every_seconds = 86400',
  );
  expect(await fewest("tock.claim('other', p_own_transaction => true)")).toBeLessThan(100);
});

test('admissions, and the sweep for late tasks, cost the same for the last of 6,000 tasks', async () => {
  await client.query("select tock.put_queue('q')");
  await client.query(`select tock.put_concurrency_key('q', 'k', '{"paused": true}')`);
  const promoting: number[] = [];
  const looking: number[] = [];
  for (let call = 0; call < 120; call++) {
    await enqueue(client, 'q', numberedTasks(50, 0, { concurrency_key: 'k' }));
    await client.query('select tock.promote()');
    // The first calls read fewer pages, because few tasks wait yet.
    if (call < 15) continue;
    promoting.push(await pages('tock.promote()'));
    looking.push(await pages("tock.claim('other', p_own_transaction => true)"));
  }
  expectFlat('promote()', promoting);
  expectFlat('claim()', looking);
});

test('a task fails, waits and is retried at the same cost for the hundredth time', async () => {
  await client.query(`select tock.put_queue('q', '{"max_attempts": 1000}')`);
  await enqueue(client, 'q', numberedTasks(200));
  const claiming: number[] = [];
  const promoting: number[] = [];
  const empty: number[] = [];
  for (let round = 0; round < 60; round++) {
    const runs = await claim(client, 'q', { limit: 200 });
    expect(runs).toHaveLength(200);
    await fail(client, leaseOf(runs), { retry_in_seconds: 0.000001 });
    promoting.push(await pages('tock.promote(1000)'));
    claiming.push(await pages("tock.claim('q', p_limit => 1)"));
    empty.push(await pages("tock.claim('other')"));
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    await client.query('select tock.reap(p_sweep => true)');
  }
  expectFlat('promote after failures', promoting);
  expectFlat('claim of one', claiming);
  expectFlat('empty claim', empty);
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

test("late commits are swept: a delayed task and a lease below the reader's position", async () => {
  await client.query("select tock.put_queue('q')");
  const late = await db.connect();
  await enqueue(client, 'q', numberedTasks(1));
  await late.query('begin');
  const [id] = await enqueue(late, 'late', [{ delay_seconds: 0.001 }]);
  const [run] = await claim(late, 'q', { lease_seconds: 1 });
  await due(2000);
  await late.query(
    "update tock.leases set leased_until = now() - interval '1 hour' where closed_at is null",
  );
  await late.query(
    "update tock.waiting set due_at = now() - interval '1 hour' where queue = 'late'",
  );
  while ((await value<number>(client, 'select tock.promote(500)')) > 0);
  await client.query('select tock.reap()');
  await late.query('commit');
  expect(await value(client, 'select tock.promote(500)')).toBe(0);
  expect(await value(client, 'select tock.reap(p_sweep => false)')).toBe(0);
  await client.query("select tock.run_maintenance('promote')");
  await client.query(
    "update tock.maintenance_jobs set swept_at = now() - interval '2 minutes' where name = 'reap'",
  );
  expect(await value(client, "select tock.run_maintenance('reap')")).toBe(1);
  expect((await claim(client, 'late')).map((claimed) => claimed.id)).toEqual([id]);
  const again = (await claim(client, 'q', { limit: 3000 })).map((claimed) => claimed.id);
  expect(again).toContain(run?.id);
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
  const claiming: number[] = [];
  const limited: number[] = [];
  for (let round = 0; round < 300; round++) {
    claiming.push(await pages("tock.claim('q', p_limit => 2)"));
    limited.push(await pages("tock.claim('q')"));
    const lease = '(select token from tock.leases where closed_at is null and runs = 2)';
    await client.query(`select tock.complete(${lease})`);
    // A claim that is rolled back leaves dead rows too.
    await client.query("begin; select tock.claim('q', p_limit => 2); rollback");
  }
  expectFlat('claim at a limit', claiming);
  expectFlat('claim in vain', limited);
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
  for (const rest of ['', ', p_limit => 7']) {
    const [plain, asks] = [
      await fewest(`tock.claim('plain'${rest})`),
      await fewest(`tock.claim('asks'${rest})`),
    ];
    expect([rest, plain, asks, asks < plain * 1.05 + 10]).toEqual([rest, plain, asks, true]);
  }
  for (const queue of ['plain', 'asks']) await drain(client, queue, { limit: 1000 });
  const [plain, asks] = [await fewest("tock.claim('plain')"), await fewest("tock.claim('asks')")];
  expect([plain, asks, asks < plain * 1.05 + 10]).toEqual([plain, asks, true]);
  await expectInvariants(client);
});
