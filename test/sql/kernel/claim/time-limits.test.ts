import { describe, expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import {
  claim,
  complete,
  drain,
  enqueue,
  expire,
  expireTask,
  extend,
  fail,
  leaseOf,
  promote,
  type Run,
  reap,
  type TaskRow,
  task,
  value,
} from '../../verbs.ts';
import { begin, endTimeLimit, invariantsAfterEach } from '../sessions.ts';

databasePerFile();
invariantsAfterEach();

const state = async (id: string | undefined) => (await task(client, id as string))?.state;

describe('a task that expires', () => {
  test('never starts after its time, and its state is expired', async () => {
    const [at = '', after = '', plain] = await enqueue(client, 'expires', [
      { expires_at: new Date(Date.now() + 30_000).toISOString() },
      { expires_in_seconds: 30 },
      {},
    ]);
    expect(await state(at)).toBe('ready');
    for (const id of [at, after]) await expireTask(client, id);
    expect([await state(at), await state(after)]).toEqual(['expired', 'expired']);
    const runs = [
      ...(await claim(client, 'expires', { limit: 10 })),
      ...(await claim(client, 'expires', { limit: 10 })),
    ];
    expect(runs.map((run) => run.id)).toEqual([plain]);
    expect(await task(client, at)).toMatchObject({
      state: 'expired',
      runs: [{ state: 'expired', worker: null, started_at: null }],
    });
  });

  test('reads as expired beside a claim that took it in time and has not committed, and then runs', async () => {
    const [id = ''] = await enqueue(client, 'late', [{ expires_in_seconds: 30 }]);
    const claimer = await begin();
    const runs = await claim(claimer, 'late');
    await expireTask(client, id);
    expect(await state(id)).toBe('expired');
    await claimer.query('commit');
    expect(await state(id)).toBe('running');
    await complete(client, leaseOf(runs));
    expect(await state(id)).toBe('done');
  });

  test('is not tried again after its time', async () => {
    const [id = ''] = await enqueue(client, 'tried', [{ expires_in_seconds: 30 }]);
    await fail(client, leaseOf(await claim(client, 'tried')), { retry_in_seconds: 0.001 });
    await expireTask(client, id);
    expect(await state(id)).toBe('expired');
    await promote(client);
    expect(await claim(client, 'tried')).toEqual([]);
    expect(await state(id)).toBe('expired');
  });

  test('counts its time from when it is due, and takes the default of its queue', async () => {
    await client.query(`select tock.put_queue('waits', '{"max_wait_seconds": 30}')`);
    const tasks = [{}, { delay_seconds: 3600 }, { expires_in_seconds: 3600 }];
    const ids = await enqueue(client, 'waits', tasks);
    for (const [n, seconds] of [30, 3630, 3600].entries()) {
      const { options, created_at } = (await task(client, ids[n] as string)) as TaskRow;
      const waits = Date.parse(String(options?.expires_at)) - created_at.getTime();
      expect(Math.round(waits / 10_000) * 10).toBe(seconds);
    }
    await client.query(`select tock.put_queue('waits', '{"max_wait_seconds": null}')`);
    const [plain] = await enqueue(client, 'waits', [{}]);
    expect(await task(client, plain as string)).toMatchObject({ options: null });
  });
});

describe('a time limit', () => {
  /** Makes a call. `lasts` accepts a deadline that is `seconds` after some instant of the call. */
  async function during<T>(call: () => Promise<T>) {
    const from = Date.now();
    const answer = await call();
    const to = Date.now();
    const lasts = (until: Date | undefined, seconds: number) => {
      expect(Number(until)).toBeGreaterThanOrEqual(from + 1000 * seconds - 1);
      expect(Number(until)).toBeLessThanOrEqual(to + 1000 * seconds + 1);
    };
    return { answer, lasts };
  }

  /** Whole seconds from a claim to the deadline of its lease. */
  const length = `select floor(extract(epoch from leased_until - claimed_at))::int
    from tock.leases where token = $1`;
  const lengthOf = (runs: Run[]) => value<number>(client, length, [leaseOf(runs)]);

  test("ends the lease, and extending does not move it; it is the queue's when the task has none", async () => {
    await enqueue(client, 'limit', [{ timeout_seconds: 20 }]);
    const claimed = await during(() => claim(client, 'limit', { lease_seconds: 10 }));
    const lease = leaseOf(claimed.answer);
    claimed.lasts(claimed.answer[0]?.leased_until, 10);
    const extended = await during(() => extend(client, lease, 15));
    extended.lasts(extended.answer?.leased_until, 15);
    claimed.lasts((await extend(client, lease, 600))?.leased_until, 20);
    await client.query(`select tock.put_queue('of-queue', '{"timeout_seconds": 5}')`);
    await enqueue(client, 'of-queue', [{}, { timeout_seconds: 20 }]);
    for (const seconds of [5, 20])
      expect(await lengthOf(await claim(client, 'of-queue'))).toBe(seconds);
  });

  test('that is exceeded is a failed attempt, not a lost run, until the last attempt', async () => {
    const policy = '{"backoff_base_seconds": 0, "max_attempts": 2}';
    await client.query("select tock.put_queue('over', $1)", [policy]);
    const [id] = await enqueue(client, 'over', [{ timeout_seconds: 20 }]);
    for (let attempt = 1; attempt <= 2; attempt++) {
      await promote(client);
      const runs = await claim(client, 'over', { lease_seconds: 600 });
      expect(runs[0]?.attempt).toBe(attempt);
      await endTimeLimit(leaseOf(runs));
      await reap(client);
      expect(await complete(client, leaseOf(runs))).toBeUndefined();
    }
    expect(await task(client, id as string)).toMatchObject({
      state: 'dead',
      lost: 0,
      error: { name: 'TimedOut' },
      runs: [{ state: 'failed' }, { state: 'failed' }],
    });
  });

  test('does not count for a worker that died before it', async () => {
    const [id] = await enqueue(client, 'died', [{ timeout_seconds: 600 }]);
    await expire(client, leaseOf(await claim(client, 'died', { lease_seconds: 10 })));
    await reap(client);
    expect(await task(client, id as string)).toMatchObject({ state: 'ready', lost: 1, attempt: 2 });
  });

  test('is shared by all runs of a lease: another limit needs another lease', async () => {
    const tasks = [20, 20, 50, 20].map((n) => ({ timeout_seconds: n }));
    await enqueue(client, 'lengths', tasks);
    const sizes: string[] = [];
    for (const runs of await drain(client, 'lengths', { limit: 10 }))
      sizes.push(`${runs.length} of ${await lengthOf(runs)}`);
    expect(sizes).toEqual(['2 of 20', '1 of 50', '1 of 20']);
  });

  test('ends a lease of one priority, also if tasks of other priorities are ready', async () => {
    const limits = [5, 60, 60];
    const limited = limits.map((n, priority) => ({ timeout_seconds: n, priority }));
    await enqueue(client, 'ranks', [...limited, { priority: 3 }, { priority: 4 }]);
    const claims = await drain(client, 'ranks', { limit: 10 });
    expect(claims.map((runs) => runs.map((run) => run.priority))).toEqual([[0], [1], [2], [3, 4]]);
    expect(await Promise.all(claims.slice(0, 3).map(lengthOf))).toEqual(limits);
  });
});
