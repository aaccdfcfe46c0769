import { afterAll, beforeAll, expect, test } from 'vitest';
import { seeds } from '../fuzz/seeds.ts';
import { type Service, service } from '../http/service.ts';
import {
  ageClosedSegments,
  closeSegments,
  dropExpiredSegments,
  segmentNumbers,
  startNextSegment,
  verifySegments,
} from '../sql/kernel/segment/segments.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  promote,
  reap,
  release,
  rows,
  value,
} from '../sql/verbs.ts';
import { MemoryBucket } from './bucket.ts';

let tock: Service;
beforeAll(async () => {
  tock = await service({ ARCHIVE: new MemoryBucket() });
});
afterAll(() => tock.database.drop());

/** A generator of numbers below n, the same for each seed (mulberry32). */
function dice(seed: number): (n: number) => number {
  let at = seed;
  return (n) => {
    at = (at + 0x6d2b79f5) | 0;
    let t = Math.imul(at ^ (at >>> 15), 1 | at);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % n;
  };
}

const queues = ['a', 'b', 'c'];

/** Enqueues tasks with any options, some of them with parents. */
async function make(random: (n: number) => number, known: string[]): Promise<void> {
  const queue = queues[random(3)] as string;
  const tasks = Array.from({ length: 1 + random(6) }, (_, n) => ({
    payload: { n, big: 'x'.repeat(random(40)), many: random(2) ? [1e20, 0.1, null] : 'é😀' },
    ...(random(3) === 0 && { delay_seconds: 100 + random(1000) }),
    ...(random(3) === 0 && { priority: random(10) }),
    ...(random(3) === 0 && { tenant: `t${random(3)}` }),
    ...(random(5) === 0 && { concurrency_key: `g${random(2)}` }),
    ...(random(4) === 0 && { max_attempts: 1 + random(3) }),
    ...(random(8) === 0 && { unique_key: `k${random(3)}`, on_conflict: 'replace' }),
    ...(random(8) === 0 && { headers: { 'x-n': `${n}` } }),
    ...(random(8) === 0 && { pipeline: [queue, queues[random(3)]] }),
    ...(random(6) === 0 && known.length > 0 && { depends_on: [known[random(known.length)]] }),
  }));
  const ids = await enqueue(tock.owner, queue, tasks).catch(() => []);
  known.push(...ids);
}

/** Promotes, claims and ends tasks in some way. With `kindly` it promotes first and completes all that it claims. */
async function goOn(random: (n: number) => number, kindly: boolean) {
  const queue = queues[random(3)] as string;
  if (random(2) === 0 || kindly) {
    await tock.owner.query(
      "update tock.waiting set due_at = now() - interval '1 s' where due_at > now() and due_after_parents is null",
    );
    await promote(tock.owner);
  }
  const runs = await claim(tock.owner, queue, { limit: 1 + random(8), worker: `w${random(3)}` });
  if (runs.length === 0) return 0;
  const lease = leaseOf(runs);
  const ids = runs.map(({ id }) => id);
  const how = kindly ? 0 : random(6);
  if (how === 1) await fail(tock.owner, lease, { error: { message: `e${random(4)}` } });
  else if (how === 2) await release(tock.owner, lease);
  else if (how === 3) {
    await expire(tock.owner, lease);
    await reap(tock.owner);
  } else if (how === 4) {
    await complete(tock.owner, lease, [{ id: ids[0], result: { r: random(9) } }]);
    await fail(tock.owner, lease, { fatal: true, error: 'over' }).catch(() => {});
  } else {
    const results = ids.map((id) => ({ id, ...(random(2) && { result: random(100) }) }));
    await complete(tock.owner, lease, random(2) ? results : undefined);
  }
  return runs.length;
}

async function changeTask(random: (n: number) => number, known: string[]): Promise<void> {
  const id = known[random(known.length)];
  const verbs = [
    ['select tock.cancel(array[$1::bigint])', [id]],
    [`select tock.change(array[$1::bigint], '{"priority": 1}')`, [id]],
    [`select tock.change(array[$1::bigint], '{"payload": "changed"}')`, [id]],
    ['select tock.move(array[$1::bigint], $2)', [id, queues[random(3)]]],
    ['select tock.rerun(array[$1::bigint])', [id]],
  ] as const;
  const [sql, values] = verbs[random(verbs.length)] as (typeof verbs)[number];
  // Some calls fail, because a task has ended or belongs to another lease.
  await tock.owner.query(sql, [...values]).catch(() => {});
}

const read = async (id: string) => (await tock.send(`GET /v1/tasks/${id}`)).text;

test.each(seeds)(
  'tasks with runs in several segments read exactly as before: seed %i',
  async (seed) => {
    const random = dice(seed);
    const known: string[] = [];
    for (let segment = 0; segment < 3; segment++) {
      for (let n = 0; n < 25; n++) {
        const what = known.length === 0 ? 0 : random(9);
        if (what < 3) await make(random, known);
        else if (what < 5) await changeTask(random, known);
        else await goOn(random, false);
      }
      await startNextSegment(tock.owner);
    }
    // Continues until all tasks have ended.
    for (let n = 0, idle = 0; idle < 30 && n < 1000; n++) {
      idle = (await goOn(random, true)) > 0 ? 0 : idle + 1;
    }
    await tock.owner.query(
      'select tock.cancel(array[coalesce(w.task_id, w.position << 20)]) from tock.waiting w',
    );
    await promote(tock.owner);
    for (let n = 0; n < 60; n++) await goOn(random, true);
    await startNextSegment(tock.owner);
    await closeSegments(tock.owner);
    await closeSegments(tock.owner);
    // Every task, with those that were spawned, and each id of their runs.
    const all = await rows<{ id: string }>(
      tock.owner,
      `select distinct coalesce(r.task_id, r.position << 20 | r.stream)::text as id from tock.runs r
       union select (r.position << 20 | r.stream)::text from tock.runs r`,
    );
    expect(all.length).toBeGreaterThan(60);
    const before = new Map<string, string>();
    for (const { id } of all) before.set(id, await read(id));
    const unchanged = async () => {
      for (const [id, text] of before) expect(await read(id)).toBe(text);
    };
    await ageClosedSegments(tock.owner, '60 days');
    await verifySegments(tock.owner);
    await tock.send('PUT /v1/archive', { body: { enabled: true } });
    const there = (await segmentNumbers(tock.owner)).length;
    let mixed = false;
    for (let more = true; more; ) {
      const { body, status, text } = await tock.send('POST /v1/archive/step', {
        body: { rows: 30 },
      });
      expect(status, text).toBe(200);
      more = body.more;
      await dropExpiredSegments(tock.owner);
      // At this point some segments are in the database and some in the archive.
      if (!mixed && (await segmentNumbers(tock.owner)).length === there - 2) {
        mixed = true;
        await unchanged();
      }
    }
    expect(mixed).toBe(true);
    expect(await value(tock.owner, 'select count(*)::int from tock.runs')).toBe(0);
    await unchanged();
  },
);
