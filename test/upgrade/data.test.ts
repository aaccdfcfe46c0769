import type pg from 'pg';
import { afterAll, expect, test } from 'vitest';
import type { Database } from '../database.ts';
import { brokenSentences, expectWhole } from '../sql/audit.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  expire,
  extend,
  fail,
  leaseOf,
  numbered,
  promote,
  reap,
  release,
  rows,
  value,
} from '../sql/support.ts';
import { releasedDatabase, upgrade } from './database.ts';
import { edge, type Filled, fill, type Open } from './fill.ts';
import { releases } from './released.ts';

const used: Database[] = [];
afterAll(() => Promise.all(used.map((one) => one.drop())));

const tasks = `
  select t.id, t.queue, t.state, t.priority, t.tenant, t.attempt, t.max_attempts, t.lost, t.created_at, t.run_at,
    t.ended_at, t.payload, t.result, t.error, (
      select json_agg(json_build_object('id', r ->> 'id', 'attempt', r -> 'attempt', 'state', r -> 'state', 'worker',
        r -> 'worker', 'started_at', r -> 'started_at', 'ended_at', r -> 'ended_at', 'error', r -> 'error'))
      from jsonb_array_elements(t.runs) r) as runs
  from unnest($1::bigint[]) i cross join lateral tock.task(p_id => i) t order by t.id`;

const policies = `
  select name, lease_seconds, max_attempts, max_lost, backoff_base_seconds, backoff_factor, backoff_cap_seconds,
    backoff_jitter, lanes, max_payload_bytes, paused, created_at from tock.queues order by name`;

const stats =
  'select queue, paused, ready, running, waiting, dead from tock.queue_stats() order by queue';

async function everything(client: pg.Client, filled: Filled) {
  return {
    tasks: await rows(client, tasks, [[...filled.tasks.keys()]]),
    policies: await rows(client, policies),
    stats: await rows(client, stats),
    next: await value(client, 'select tock.next_wake_at()'),
  };
}

/** Whole, but for what the migration cut off at an edge: that is reaped when its lease is over. */
async function expectWholeButFar(client: pg.Client): Promise<number> {
  const { 'an open lease lies in another leaf than its token says': far = 0, ...broken } =
    await brokenSentences(client);
  expect(broken).toEqual({});
  return far;
}

/** Works until nothing is left, as workers, the clock and an operator would. */
async function finish(client: pg.Client, filled: Filled): Promise<void> {
  await client.query(`select tock.put_queue(p_queue => 'paused', p_policy => '{"paused": false}')`);
  const queues = await rows<{ name: string }>(
    client,
    "select name from tock.queues where name <> '*'",
  );
  const left = 'select sum(ready + running + waiting)::integer from tock.queue_stats()';
  for (let round = 0; (await value<number>(client, left)) > 0; round++) {
    expect(round).toBeLessThan(10);
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 second' where closed_at is null",
    );
    await client.query("update tock.waiting set due_at = now() - interval '1 second'");
    await reap(client);
    await promote(client);
    for (const { name } of queues) {
      for (const runs of await drain(client, name)) {
        for (const run of runs) expect(run.payload).toBe(filled.tasks.get(run.id));
        expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: runs.length });
      }
    }
  }
}

const completeAll = async (client: pg.Client, { lease, done }: Open) =>
  ((await complete(client, lease))?.completed ?? 0) - done;

/** What may be done with a lease that was open when the migration came; how many runs it ended. */
const ends: Record<string, (client: pg.Client, open: Open) => Promise<number>> = {
  'completed as a whole': completeAll,
  'completed one by one': async (client, { lease, left }) => {
    let count = 0;
    for (const id of left)
      count += (await complete(client, lease, [{ id, result: 1 }]))?.completed ?? 0;
    return count;
  },
  failed: async (client, { lease }) =>
    (await fail(client, lease, { error: { name: 'New' } }))?.failed ?? 0,
  released: async (client, { lease, left }) => (await release(client, lease, left))?.released ?? 0,
  'extended and completed': async (client, open) => {
    await extend(client, open.lease, 7200);
    return completeAll(client, open);
  },
  reaped: async (client, { lease }) => {
    await expire(client, lease);
    await reap(client);
    return -1;
  },
};

for (const release of releases) {
  const made = async () => {
    const db = await releasedDatabase(release);
    used.push(db);
    const client = await db.connect();
    const filled = await fill(client);
    return { db, client, filled };
  };

  test(`what ${release} stored reads the same after the migration, and its calls can be repeated`, async () => {
    const { db, client, filled } = await made();
    const before = await everything(client, filled);
    expect(before.tasks).toHaveLength(filled.tasks.size);
    await upgrade(db);
    // Five leases over one edge, one over two.
    expect(await expectWholeButFar(client)).toBe(7);
    // The loss that a task died of is counted since.
    for (const task of before.tasks) {
      const { state, error, lost } = task as {
        state: string;
        error?: { name?: string };
        lost: number;
      };
      if (state === 'dead' && error?.name === 'LeaseExpired') task.lost = lost + 1;
    }
    expect(await everything(client, filled)).toEqual(before);
    const [id] = filled.tasks.keys();
    expect((await enqueue(client, 'plain', numbered(40), 'r0'))[0]).toBe(id);
    const once = filled.open.find(({ runs }) => runs[0]?.leased_until && runs.length === 2) as Open;
    const again = await claim(client, 'plain', {
      limit: 2,
      lease_seconds: 3600,
      worker: 'w',
      request_id: 'once',
    });
    expect(again).toEqual(once.runs);
    const authorized = 'select tock.authorize(p_key => $1, p_scope => $2, p_queue => $3)';
    expect(await value(client, authorized, [filled.key, 'claim', 'plain'])).toBe(true);
    expect(await claim(client, 'paused')).toEqual([]);
  });

  for (const [how, end] of Object.entries(ends)) {
    test(`leases open since ${release} are ${how}, and every task comes to its end`, async () => {
      const { db, client, filled } = await made();
      await upgrade(db);
      for (const open of filled.open) {
        const ended = await end(client, open);
        // What lay beyond an edge may only run out and come again; all else is its lease's still.
        if (!open.crosses && ended >= 0)
          expect([open.queue, ended]).toEqual([open.queue, open.left.length]);
        await expectWholeButFar(client);
      }
      await finish(client, filled);
      await expectWhole(client);
      const found = await rows<{ id: string; state: string }>(client, tasks, [
        [...filled.tasks.keys()],
      ]);
      expect(found).toHaveLength(filled.tasks.size);
      const ofState = (state: string) =>
        found.filter((row) => row.state === state).map((row) => row.id);
      expect(ofState('dead').sort()).toEqual([...filled.dead].sort());
      expect(ofState('done')).toHaveLength(filled.tasks.size - filled.dead.length);
    });
  }

  // A settled epoch was one that no claim had to read; now it is one with no open lease either.
  test(`a lease open in an epoch that ${release} had settled is found when it runs out`, async () => {
    const db = await releasedDatabase(release);
    used.push(db);
    const client = await db.connect();
    const [id] = await enqueue(client, 'left', numbered(1));
    const lease = leaseOf(await claim(client, 'left', { lease_seconds: 3600 }));
    for (const position of [edge - 2, edge, edge + 100]) {
      await client.query("select setval('tock.positions', $1)", [position]);
      await enqueue(client, 'left', numbered(1));
      await complete(client, leaseOf(await claim(client, 'left')));
      await client.query('select tock.rest()');
    }
    const settled = 'select number from tock.epochs where settled_at is not null';
    expect(await rows(client, settled)).toEqual([{ number: 1 }]);
    await upgrade(db);
    for (let n = 0; n < 3; n++) await client.query('select tock.rest(), tock.rotate()');
    await expectWhole(client);
    await expire(client, lease);
    expect(await reap(client)).toBe(1);
    expect((await drain(client, 'left')).flat().map((run) => run.id)).toEqual([id]);
    await expectWhole(client);
  });

  test(`epochs of ${release} are settled, audited without a find, and dropped in their time`, async () => {
    const { db, client, filled } = await made();
    await upgrade(db);
    await finish(client, filled);
    for (let n = 0; n < 5; n++)
      await client.query('select tock.rest(), tock.rotate(), tock.audit()');
    const epochs = 'select number from tock.epochs where audited_at is null order by number';
    expect((await rows(client, epochs))[0]).toEqual({ number: 3 });
    await client.query(
      "update tock.epochs set settled_at = now() - interval '8 days', audited_at = now() - interval '8 days' where number < 3",
    );
    for (let n = 0; n < 5; n++) await client.query('select tock.retain()');
    expect(await value(client, 'select min(number) from tock.epochs')).toBe(3);
    expect(await value(client, "select to_regclass('tock.runs_2')")).toBe(null);
    expect(await rows(client, "select * from tock.reports where kind = 'audit'")).toEqual([]);
    expect(
      await rows(client, 'select name, last_error from tock.duties where last_error is not null'),
    ).toEqual([]);
    await enqueue(client, 'plain', numbered(5));
    expect((await drain(client, 'plain')).flat()).toHaveLength(5);
  });
}
