import { expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { createSegments, moveNearSegmentEnd } from '../../kernel/segment/segments.ts';
import { begin } from '../../kernel/sessions.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  numberedTasks,
  type Run,
  reap,
  release,
  row,
  task,
  value,
} from '../../verbs.ts';
import { putQueue } from '../queue_limits/limits.ts';
import { claimAny, queuesAndPayloads } from './claim_any.ts';

databasePerTest();

test('a claim takes all tasks of the first queue, and fills its limit from the next', async () => {
  await enqueue(client, 'b', numberedTasks(5));
  expect(queuesAndPayloads(await claimAny(client, ['a', 'b'], { limit: 2 }))).toEqual(['b0', 'b1']);
  await enqueue(client, 'a', numberedTasks(3));
  const runs = await claimAny(client, ['a', 'b'], { limit: 5 });
  expect(queuesAndPayloads(runs)).toEqual(['a0', 'a1', 'a2', 'b2', 'b3']);
  expect(queuesAndPayloads(await claimAny(client, ['a', 'b'], { limit: 5 }))).toEqual(['b4']);
  expect(await claimAny(client, ['a', 'b'], { limit: 5 })).toEqual([]);
  await expectInvariants(client);
});

test("each queue has its own lease, which ends by its queue's policy", async () => {
  await putQueue(client, 'a', { max_attempts: 1, lease_seconds: 10 });
  await putQueue(client, 'b', { max_attempts: 3, lease_seconds: 1000 });
  await enqueue(client, 'a', [{}]);
  await enqueue(client, 'b', [{}]);
  const [a, b] = (await claimAny(client, ['a', 'b'], { limit: 2 })) as unknown as [Run, Run];
  expect(a.lease).not.toBe(b.lease);
  expect([a.max_attempts, b.max_attempts]).toEqual([1, 3]);
  expect(b.leased_until.getTime() - a.leased_until.getTime()).toBeGreaterThan(900_000);
  expect(await value(client, 'select tock.queue_of_lease($1)', [a.lease])).toBe('a');
  expect(await value(client, 'select tock.queue_of_lease($1)', [b.lease])).toBe('b');
  expect(await complete(client, a.lease, [{ id: b.id }])).toMatchObject({ completed: 0 });
  expect(await fail(client, a.lease)).toMatchObject({ failed: 1, dead: 1 });
  expect(await fail(client, b.lease)).toMatchObject({ failed: 1, dead: 0 });
});

test('shares follow the weights while all queues have tasks, and an empty queue cedes its share', async () => {
  for (const queue of ['a', 'b', 'c']) await enqueue(client, queue, numberedTasks(600));
  const shares = async (count: number, queues: string[], weights: number[]) => {
    const got = new Map(queues.map((queue) => [queue, 0]));
    for (let n = 0; n < count; n++) {
      for (const { queue } of await claimAny(client, queues, { weights })) {
        got.set(queue, (got.get(queue) ?? 0) + 1);
      }
    }
    return queues.map((queue) => got.get(queue) ?? 0);
  };
  // The expected shares are 300, 75 and 25 of 400. The bounds are six standard deviations.
  const [a = 0, b = 0, c = 0] = await shares(400, ['a', 'b', 'c'], [12, 3, 1]);
  expect(a + b + c).toBe(400);
  expect(Math.abs(a - 300)).toBeLessThan(52);
  expect(Math.abs(b - 75)).toBeLessThan(47);
  expect(Math.abs(c - 25)).toBeLessThan(25);
  // The shares are 50 of 100 each, although the queue with the largest weight is empty.
  const [none, d = 0, e = 0] = await shares(100, ['empty', 'b', 'c'], [1000, 1, 1]);
  expect([none, d + e]).toEqual([0, 100]);
  expect(Math.abs(d - 50)).toBeLessThan(30);
});

test('paused, limited and locked queues do not block the others', async () => {
  for (const queue of ['paused', 'limited', 'locked', 'free']) {
    await enqueue(client, queue, numberedTasks(3));
  }
  await putQueue(client, 'paused', { paused: true });
  await putQueue(client, 'limited', { max_running: 2, rate_limit: 1, rate_seconds: 3600 });
  const other = await begin();
  await claim(other, 'locked');
  const queues = ['paused', 'limited', 'locked', 'free'];
  const first = await claimAny(client, queues, { limit: 9 });
  expect(queuesAndPayloads(first)).toEqual(['limited0', 'free0', 'free1', 'free2']);
  expect(await claimAny(client, queues, { limit: 9 })).toEqual([]);
  await other.query('rollback');
  const rest = await claimAny(client, queues, { limit: 9 });
  expect(queuesAndPayloads(rest)).toEqual(['locked0', 'locked1', 'locked2']);
});

const answer = (queues: string[]) =>
  row<{ state: string; after: number }>(
    client,
    `select coalesce(s.state, 'found') as state, coalesce(s.retry_after_seconds, 0) as after
     from (select array(select c from tock.claim_any(p_queues => $1, p_own_transaction => true) c) as runs offset 0) x
       left join lateral tock.claim_state($1) s on pg_catalog.cardinality(x.runs) = 0`,
    [queues],
  );

test('a claim from several queues answers the best state among them', async () => {
  await putQueue(client, 'paused', { paused: true });
  await putQueue(client, 'slow', { rate_limit: 1, rate_seconds: 500 });
  await enqueue(client, 'slow', numberedTasks(2));
  await enqueue(client, 'soon', [{ delay_seconds: 20 }]);
  await claim(client, 'slow');
  expect(await answer(['paused'])).toMatchObject({ state: 'paused' });
  const limited = await answer(['paused', 'slow']);
  expect(limited).toMatchObject({ state: 'limited' });
  expect(limited.after).toBeGreaterThan(400);
  const empty = await answer(['paused', 'slow', 'soon']);
  expect(empty).toMatchObject({ state: 'empty' });
  expect(Math.abs(empty.after - 15)).toBeLessThanOrEqual(5);
  await enqueue(client, 'held', numberedTasks(2));
  const other = await begin();
  await claim(other, 'held');
  expect(await answer(['paused', 'held', 'soon'])).toMatchObject({ state: 'busy' });
  await other.query('rollback');
  expect(await answer(['paused', 'held', 'soon'])).toMatchObject({ state: 'found' });
});

test('each lease lies in one queue and segment, and all tasks are claimed, with options too', async () => {
  const tasks = [{ payload: 0 }, { payload: 1, timeout_seconds: 60 }, { payload: 2 }];
  await enqueue(client, 'old', tasks);
  await moveNearSegmentEnd(client, 2);
  await createSegments(client);
  await enqueue(client, 'edge', tasks);
  await enqueue(client, 'new', tasks);
  const seen: string[] = [];
  for (let runs: (Run & { queue: string })[]; ; ) {
    runs = await claimAny(client, ['new', 'edge', 'old'], { limit: 9 });
    if (runs.length === 0) break;
    seen.push(...queuesAndPayloads(runs));
    for (const lease of new Set(runs.map((run) => run.lease))) {
      const own = runs.filter((run) => run.lease === lease);
      expect(new Set(own.map((run) => run.queue)).size).toBe(1);
      expect(await complete(client, lease)).toMatchObject({ completed: own.length });
    }
  }
  const all = ['new', 'edge', 'old'].flatMap((queue) => [0, 1, 2].map((n) => queue + n));
  expect(seen.sort()).toEqual(all.sort());
  await expectInvariants(client);
});

const setting = async (queues: string[]) => {
  const sql = `select c.id, current_setting('synchronous_commit') as setting
     from tock.claim_any(p_queues => $1, p_limit => 9, p_own_transaction => true) c`;
  return (await row<{ setting: string }>(client, sql, [queues])).setting;
};

test('a claim in its own transaction commits asynchronously, unless one of the queues forbids it', async () => {
  for (const queue of ['a', 'b', 'limited']) await enqueue(client, queue, numberedTasks(1));
  await putQueue(client, 'limited', { max_running: 1 });
  await enqueue(client, 'asking', [{ timeout_seconds: 60 }]);
  expect(await setting(['a', 'nothing'])).toBe('off');
  expect(await setting(['b', 'limited'])).toBe('on');
  expect(await setting(['asking'])).toBe('on');
});

test('a claim in its own transaction promotes due tasks and reaps lost runs of its queues', async () => {
  await enqueue(client, 'a', numberedTasks(1));
  const [run] = await claimAny(client, ['a', 'b']);
  await expire(client, run?.lease as string);
  await enqueue(client, 'b', [{ payload: 'late', delay_seconds: 1 }]);
  await client.query("update tock.waiting set due_at = now() - interval '1 second'");
  await client.query('update tock.maintenance_jobs set last_started_at = null');
  const got: string[] = [];
  for (let n = 0; n < 3; n++) {
    got.push(...queuesAndPayloads(await claimAny(client, ['a', 'b'], { limit: 9, alone: true })));
  }
  expect(got.sort()).toEqual(['a0', 'blate']);
});

test('the size of an answer is bounded over all queues, and the first payload may be large', async () => {
  const large = 'x'.repeat(3_000_000);
  for (const queue of ['a', 'b', 'c']) {
    await putQueue(client, queue, { max_payload_bytes: 4_194_304 });
    await enqueue(client, queue, [{ payload: large }, { payload: large }]);
  }
  await enqueue(client, 'd', numberedTasks(2));
  const queues = ['a', 'b', 'c', 'd'];
  const first = await claimAny(client, queues, { limit: 9 });
  expect(first.map((run) => run.queue)).toEqual(['a', 'd', 'd']);
  expect((await claimAny(client, queues, { limit: 2 })).map((run) => run.queue)).toEqual(['a']);
  expect((await claimAny(client, queues, { limit: 2 })).map((run) => run.queue)).toEqual(['b']);
});

test('eight workers empty five queues together, each task once', async () => {
  const queues = ['a', 'b', 'c', 'd', 'e'];
  const sent: string[] = [];
  for (const queue of queues) sent.push(...(await enqueue(client, queue, numberedTasks(300))));
  await putQueue(client, 'c', { max_running: 4 });
  const workers = await Promise.all(Array.from({ length: 8 }, () => db.connect()));
  const done: string[] = [];
  let calls = 0;
  await Promise.all(
    workers.map(async (on, n) => {
      while (done.length < sent.length) {
        calls++;
        const options = {
          limit: 1 + (calls % 9),
          ...(n % 2 && { weights: [5, 4, 3, 2, 1] }),
        };
        const runs = await claimAny(on, n % 3 ? queues : queues.toReversed(), options);
        for (const lease of new Set(runs.map((run) => run.lease))) {
          const own = runs.filter((run) => run.lease === lease);
          if (calls % 7 === 0) await release(on, lease);
          else if (await complete(on, lease)) done.push(...own.map((run) => run.id));
        }
      }
    }),
  );
  expect(done.sort()).toEqual(sent.sort());
  expect(await reap(client)).toBe(0);
  expect((await task(client, sent[0] as string))?.state).toBe('done');
  await expectInvariants(client);
});
