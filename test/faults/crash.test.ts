import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OwnCluster, ownCluster } from '../database.ts';
import { expectInvariants } from '../sql/invariants.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  leaseOf,
  numberedTasks,
  reap,
  rows,
  value,
} from '../sql/verbs.ts';

let db: OwnCluster;

beforeAll(async () => {
  db = await ownCluster();
});

afterAll(() => db.drop());

/** Starts sessions that repeat a step until the server is gone. */
async function untilGone(
  count: number,
  step: (on: pg.Client) => Promise<void>,
): Promise<Promise<void>[]> {
  const clients = await Promise.all(Array.from({ length: count }, () => db.connect()));
  return clients.map(async (on) => {
    for (;;) {
      try {
        await step(on);
      } catch (error) {
        if (/^(08|57P|E|$)/.test((error as { code?: string }).code ?? '')) return;
        throw error;
      }
    }
  });
}

async function claimAlone(on: pg.Client, limit: number): Promise<{ lease: string; id: string }[]> {
  return rows(
    on,
    `select lease, id from tock.claim(p_queue => 'load', p_limit => $1, p_lease_seconds => 600, p_own_transaction => true)`,
    [limit],
  );
}

/** Reaps and completes all tasks that the crash left. Returns the ids that were claimed. */
async function rest(on: pg.Client): Promise<string[]> {
  await on.query(
    "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
  );
  while ((await reap(on)) > 0);
  const seen: string[] = [];
  for (;;) {
    const runs = await claim(on, 'load', { limit: 1000 });
    if (runs.length === 0) return seen;
    seen.push(...runs.map((run) => run.id));
    expect(await complete(on, leaseOf(runs))).toMatchObject({ completed: runs.length });
  }
}

/** Waits until so many tasks are completed, and no longer. */
const reaches = (completed: Set<string>, count: number) =>
  new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (completed.size < count) return;
      clearInterval(timer);
      resolve();
    }, 1);
  });

test('a server killed in mid-load, three times, loses no accepted task and repeats no completed one', async () => {
  const accepted = new Set<string>();
  const completed = new Set<string>();
  for (let crash = 1; crash <= 3; crash++) {
    const writers = await untilGone(4, async (on) => {
      for (const id of await enqueue(on, 'load', numberedTasks(3))) accepted.add(id);
    });
    const workers = await untilGone(4, async (on) => {
      const runs = await claimAlone(on, 4);
      const [first] = runs;
      if (!first) return;
      await complete(on, first.lease);
      for (const run of runs) completed.add(run.id);
    });
    await reaches(completed, completed.size + 400);
    await db.kill9();
    await Promise.all([...writers, ...workers]);
    await db.start();

    const client = await db.connect();
    await expectInvariants(client);
    const again = await rest(client);
    expect(again).toHaveLength(new Set(again).size);
    expect(again.filter((id) => completed.has(id))).toEqual([]);
    for (const id of again) completed.add(id);
    // A completion may be durable although its answer was lost: four runs for each worker.
    const unanswered = [...accepted].filter((id) => !completed.has(id));
    expect(unanswered.length).toBeLessThanOrEqual(16);
    for (const id of unanswered) {
      expect(await value(client, 'select state from tock.task($1)', [id])).toBe('done');
      completed.add(id);
    }
    await expectInvariants(client);
  }
});

test('a completion acknowledged just before a crash holds, also if nothing was written after it', async () => {
  // The WAL writer flushes asynchronous commits within 0.2 s by default. With 10 s such a commit would be lost here.
  const admin = await db.connect(db.superUrl);
  await admin.query("alter system set wal_writer_delay = '10s'");
  await admin.query('select pg_reload_conf()');
  const filler = await db.connect();
  for (let call = 0; call < 4; call++) await enqueue(filler, 'load', numberedTasks(1000));
  const completed = new Set<string>();
  const workers = await untilGone(4, async (on) => {
    const runs = await claimAlone(on, 1);
    const [first] = runs;
    if (!first) return;
    await complete(on, first.lease);
    for (const run of runs) completed.add(run.id);
  });
  await reaches(completed, 500);
  await db.kill9();
  await Promise.all(workers);
  await db.start();
  const client = await db.connect();
  const again = await rest(client);
  expect(again.filter((id) => completed.has(id))).toEqual([]);
  // A completion may be durable although its answer was lost.
  expect(again.length + completed.size).toBeGreaterThanOrEqual(4000 - workers.length);
});

test('limits hold after a crash: the runs claimed just before still count', async () => {
  const client = await db.connect();
  await client.query(
    `select tock.put_queue('few', '{"max_running": 3, "rate_limit": 4, "rate_seconds": 86400}')`,
  );
  await enqueue(client, 'few', numberedTasks(9));
  const alone =
    'select id from tock.claim(p_queue => $1, p_limit => 9, p_lease_seconds => 86400, p_own_transaction => true)';
  const first = await rows<{ id: string }>(client, alone, ['few']);
  expect(first).toHaveLength(3);
  await db.kill9();
  await db.start();
  const again = await db.connect();
  expect(await rows(again, alone, ['few'])).toEqual([]);
  expect(await value(again, "select (tock.claim_state('{few}')).state")).toBe('limited');
  const [limits] = await rows<{ level: number }>(again, "select * from tock.limits('few')");
  expect(limits).toMatchObject({ running: 3 });
  expect(limits?.level).toBeLessThan(2);
  await expectInvariants(again);
});

test('a prepared task and a prepared claim survive a crash', async () => {
  const writer = await db.connect();
  await writer.query('begin');
  const ids = await enqueue(writer, 'two-phase', numberedTasks(2));
  await writer.query("prepare transaction 'a task'");
  const claimed = await enqueue(writer, 'held', numberedTasks(2));
  await writer.query('begin');
  const lease = leaseOf(await claim(writer, 'held', { limit: 2 }));
  await writer.query("prepare transaction 'a claim'");
  await db.kill9();
  await db.start();

  const client = await db.connect();
  const others = await enqueue(client, 'two-phase', numberedTasks(2));
  const claims = async (queue: string) =>
    (await claim(client, queue, { limit: 9 })).map((run) => run.id);
  expect(await claims('two-phase')).toEqual(others);
  expect(await claims('held')).toEqual([]);
  await client.query('select tock.deactivate_streams()');
  await client.query("commit prepared 'a task'");
  await client.query("commit prepared 'a claim'");
  expect(await claims('two-phase')).toEqual(ids);
  expect(await claims('held')).toEqual([]);
  expect(await complete(client, lease)).toEqual({ completed: 2, refused: [] });
  expect(await value(client, 'select state from tock.task($1)', [claimed[0]])).toBe('done');
  await expectInvariants(client);
});

test('a claim lost in a crash only makes its runs ready again', async () => {
  const client = await db.connect();
  const ids = await enqueue(client, 'lost', numberedTasks(50));
  const runs = await rows<{ lease: string }>(
    client,
    "select lease from tock.claim(p_queue => 'lost', p_limit => 50, p_own_transaction => true)",
  );
  await db.kill9();
  await db.start();
  const after = await db.connect();
  await expire(after, runs[0]?.lease as string);
  await reap(after);
  expect((await claim(after, 'lost', { limit: 99 })).map((run) => run.id)).toEqual(ids);
  await expectInvariants(after);
});
