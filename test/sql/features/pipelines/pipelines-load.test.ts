import type pg from 'pg';
import { expect, test } from 'vitest';
import { sleep } from '../../../sleep.ts';
import { conditionTimeout } from '../../../timeout.ts';
import { expectInvariants } from '../../invariants.ts';
import { createSegments } from '../../kernel/segment/segments.ts';
import { seededRandom } from '../../load.ts';
import { client, databasePerTest, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  promote,
  type Run,
  reap,
  release,
  rows,
  value,
} from '../../verbs.ts';
import { putQueue } from '../concurrency/concurrency_keys.ts';
import { stages } from './pipelines.ts';

databasePerTest();

/** Ends the runs of a claim as workers do, including workers that lose answers, leases or transactions. */
type End = (on: pg.Client, runs: Run[]) => Promise<unknown>;

const asResults = (runs: Run[]) =>
  runs.map(({ id, payload }) => ({ id, result: (payload as number) + 1 }));

const ways: End[] = [
  (on, runs) => complete(on, leaseOf(runs), asResults(runs)),
  // A worker that has lost the answer repeats the call.
  async (on, runs) => {
    const first = await complete(on, leaseOf(runs), asResults(runs));
    expect(await complete(on, leaseOf(runs), asResults(runs))).toEqual(first);
  },
  async (on, runs) => {
    await expire(on, leaseOf(runs));
    await complete(on, leaseOf(runs), asResults(runs));
  },
  async (on, runs) => {
    await expire(on, leaseOf(runs));
    await reap(on);
    expect(await complete(on, leaseOf(runs), asResults(runs))).toBeUndefined();
  },
  async (on, runs) => {
    await on.query('begin');
    await complete(on, leaseOf(runs), asResults(runs));
    await on.query('rollback');
    await complete(on, leaseOf(runs), asResults(runs.slice(0, 2)));
    await release(on, leaseOf(runs));
  },
  async (on, runs) => {
    await complete(on, leaseOf(runs), asResults(runs.slice(0, 3)));
    await fail(on, leaseOf(runs), { retry_in_seconds: 0 });
  },
];

/** The same for whole leases, without results. */
const whole: End[] = [
  (on, runs) => complete(on, leaseOf(runs)),
  async (on, runs) => {
    const first = await complete(on, leaseOf(runs));
    expect(await complete(on, leaseOf(runs))).toEqual(first);
  },
  async (on, runs) => {
    await expire(on, leaseOf(runs));
    await Promise.all([complete(on, leaseOf(runs)), db.connect().then(reap)]);
  },
  async (on, runs) => {
    await on.query('begin');
    await complete(on, leaseOf(runs));
    await on.query('rollback');
    await release(on, leaseOf(runs), [runs[0]?.id as string]);
    await complete(on, leaseOf(runs));
  },
  async (on, runs) => {
    await complete(on, leaseOf(runs), [{ id: runs[0]?.id }]);
    await complete(on, leaseOf(runs));
  },
];

test.each([
  [200, 'by their results', ways, 3],
  [100, 'with their leases', whole, 0],
] as const)(
  '%i tasks pass each of three stages once, whatever eight workers do, ended %s',
  async (count, _how, ends, result) => {
    const seed = Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000);
    await putQueue(client, '*', { max_attempts: 1000, max_lost: 1000, backoff_jitter: 0 });
    await createSegments(client, 'p_ahead => 6, p_width => 3000');
    const ids = await enqueue(
      client,
      'fetch',
      Array.from({ length: count }, (_, n) => ({
        payload: 0,
        pipeline: stages,
        tenant: `t${n % 3}`,
        ...(n % 5 === 0 && { concurrency_key: `g${n % 50}` }),
      })),
    );
    for (const queue of stages) await putQueue(client, queue, { concurrency_limit: 5 });
    const undone = `select count(*)::integer from tock.resolve_tasks($1) where state <> 'done'`;
    const left = () => value<number>(client, undone, [ids]);
    let going = true;
    const refused = new Map<string, number>();
    const workers = Array.from({ length: 8 }, async (_, n) => {
      const random = seededRandom(seed + n);
      const on = await db.connect();
      while (going) {
        try {
          const runs = await claim(on, stages[random(3)] as string, { limit: 1 + random(30) });
          if (runs.length > 0) await (ends[random(ends.length)] as End)(on, runs);
          else await sleep(random(50));
        } catch (error) {
          const code = (error as { code?: string }).code ?? String(error);
          refused.set(code, (refused.get(code) ?? 0) + 1);
          await on.query('rollback');
        }
      }
    });
    const end = Date.now() + 4 * conditionTimeout;
    while ((await left()) > 0 && Date.now() < end) {
      await reap(client);
      for (const queue of stages) await makeDue(client, queue);
      await promote(client);
      await createSegments(client, 'p_ahead => 3, p_width => 3000');
    }
    going = false;
    await Promise.all(workers);
    expect([...refused], `seed ${seed}`).toEqual([]);
    expect(await left(), `seed ${seed}`).toBe(0);
    const stored = await rows(
      client,
      `select t.state, t.queue, coalesce(t.result, t.payload::jsonb) as result, w.way, count(*)::integer as tasks
     from unnest($1::bigint[]) i cross join lateral tock.task(p_id => i) t
     cross join lateral (
       select string_agg(r.value ->> 'queue', ', ' order by r.ordinality) as way
       from jsonb_array_elements(t.runs) with ordinality r where r.value ->> 'state' = 'done') w
     group by 1, 2, 3, 4`,
      [ids],
    );
    expect(stored, `seed ${seed}`).toEqual([
      { state: 'done', queue: 'index', result, way: 'fetch, parse, index', tasks: count },
    ]);
    await expectInvariants(client);
  },
);
