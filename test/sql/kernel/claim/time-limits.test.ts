import { describe, expect, test } from 'vitest';
import { expectInvariants } from '../../invariants.ts';
import { client, databasePerFile, db } from '../../test_database.ts';
import {
  claim,
  complete,
  enqueue,
  extend,
  fail,
  leaseOf,
  promote,
  type Run,
  reap,
  refusal,
  task,
  value,
} from '../../verbs.ts';

databasePerFile();

const seconds = (n: number) => new Date(Date.now() + n * 1000).toISOString();
const state = async (id: string | undefined) => (await task(client, id as string))?.state;

/** Moves the expiry of all tasks of a queue back by a minute. */
const age = (queue: string) =>
  client.query(
    `with aged as (
       update tock.runs r set options = r.options || jsonb_build_object('expires_at',
         (r.options ->> 'expires_at')::timestamptz - interval '1 minute')
       from tock.streams s where s.number = r.stream and s.queue = $1)
     update tock.waiting w set options = w.options || jsonb_build_object('expires_at',
       (w.options ->> 'expires_at')::timestamptz - interval '1 minute') where w.queue = $1`,
    [queue],
  );

describe('a task that expires', () => {
  test('never starts after its time, and its state is expired', async () => {
    const [at, after, plain] = await enqueue(client, 'expires', [
      { expires_at: seconds(30) },
      { expires_in_seconds: 30 },
      {},
    ]);
    expect(await state(at)).toBe('ready');
    await age('expires');
    expect([await state(at), await state(after)]).toEqual(['expired', 'expired']);
    const runs = [
      ...(await claim(client, 'expires', { limit: 10 })),
      ...(await claim(client, 'expires', { limit: 10 })),
    ];
    expect(runs.map((run) => run.id)).toEqual([plain]);
    expect(await task(client, at as string)).toMatchObject({
      state: 'expired',
      runs: [{ state: 'expired', worker: null, started_at: null }],
    });
    await complete(client, leaseOf(runs));
    await expectInvariants(client);
  });

  test('reads as expired beside a claim that took it in time and has not committed, and then runs', async () => {
    const [id] = await enqueue(client, 'late', [{ expires_in_seconds: 30 }]);
    const claimer = await db.connect();
    await claimer.query('begin');
    const runs = await claim(claimer, 'late');
    await age('late');
    expect(await state(id)).toBe('expired');
    await claimer.query('commit');
    expect(await state(id)).toBe('running');
    await complete(client, leaseOf(runs));
    expect(await state(id)).toBe('done');
    await expectInvariants(client);
  });

  test('may end after its time, once it has started', async () => {
    const [id] = await enqueue(client, 'started', [{ expires_in_seconds: 30 }]);
    const runs = await claim(client, 'started');
    await age('started');
    expect(await state(id)).toBe('running');
    expect(await complete(client, leaseOf(runs))).toMatchObject({ completed: 1 });
    expect(await state(id)).toBe('done');
  });

  test('is not tried again after its time', async () => {
    const [id] = await enqueue(client, 'tried', [{ expires_in_seconds: 30 }]);
    await fail(client, leaseOf(await claim(client, 'tried')), { retry_in_seconds: 0.001 });
    await age('tried');
    expect(await state(id)).toBe('expired');
    await promote(client);
    expect(await claim(client, 'tried')).toEqual([]);
    expect(await state(id)).toBe('expired');
  });

  test('counts its time from when it is due, and takes the default of its queue', async () => {
    await client.query(`select tock.put_queue('waits', '{"max_wait_seconds": 30}')`);
    const [now, later, own] = await enqueue(client, 'waits', [
      {},
      { delay_seconds: 3600 },
      { expires_in_seconds: 3600 },
    ]);
    const expiry = async (id?: string) => {
      const { options, created_at } = (await task(client, id as string)) as unknown as {
        options: { expires_at: string };
        created_at: Date;
      };
      return Math.round((Date.parse(options.expires_at) - created_at.getTime()) / 10_000) * 10;
    };
    expect([await expiry(now), await expiry(later), await expiry(own)]).toEqual([30, 3630, 3600]);
    await client.query(`select tock.put_queue('waits', '{"max_wait_seconds": null}')`);
    const [plain] = await enqueue(client, 'waits', [{}]);
    expect((await task(client, plain as string)) as object).toMatchObject({ options: null });
  });

  test('can neither be changed nor cancelled any more', async () => {
    const [id] = await enqueue(client, 'changed', [{ expires_in_seconds: 30 }]);
    await age('changed');
    for (const verb of ['cancel(array[$1::bigint])', 'reprioritize(array[$1::bigint], 1)']) {
      const { rows } = await client.query(`select state, changed from tock.${verb}`, [id]);
      expect(rows).toEqual([{ state: 'expired', changed: false }]);
    }
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
  const lengthOf = (runs: Run[]) =>
    value<number>(
      client,
      'select floor(extract(epoch from leased_until - claimed_at))::int from tock.leases where token = $1',
      [leaseOf(runs)],
    );

  test('ends the lease, and extending does not move it', async () => {
    await enqueue(client, 'limit', [{ timeout_seconds: 20 }]);
    const claimed = await during(() => claim(client, 'limit', { lease_seconds: 10 }));
    const lease = leaseOf(claimed.answer);
    claimed.lasts(claimed.answer[0]?.leased_until, 10);
    const extended = await during(() => extend(client, lease, 15));
    extended.lasts(extended.answer?.leased_until, 15);
    claimed.lasts((await extend(client, lease, 600))?.leased_until, 20);
    await enqueue(client, 'limit', [{ timeout_seconds: 20 }]);
    expect(await lengthOf(await claim(client, 'limit'))).toBe(20);
  });

  test('that is exceeded is a failed attempt, not a lost run, until the last attempt', async () => {
    await client.query(
      `select tock.put_queue('over', '{"backoff_base_seconds": 0, "max_attempts": 2}')`,
    );
    const [id] = await enqueue(client, 'over', [{ timeout_seconds: 20 }]);
    for (let attempt = 1; attempt <= 2; attempt++) {
      await promote(client);
      const runs = await claim(client, 'over', { lease_seconds: 600 });
      expect(runs[0]?.attempt).toBe(attempt);
      await client.query(
        `update tock.leases set leased_until = now() - interval '1 s', timeout_at = now() - interval '1 s' where token = $1`,
        [leaseOf(runs)],
      );
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
    const runs = await claim(client, 'died', { lease_seconds: 10 });
    await client.query(
      `update tock.leases set leased_until = now() - interval '1 s' where token = $1`,
      [leaseOf(runs)],
    );
    await reap(client);
    expect(await task(client, id as string)).toMatchObject({ state: 'ready', lost: 1, attempt: 2 });
  });

  test('is shared by all runs of a lease: another limit needs another lease', async () => {
    await enqueue(
      client,
      'lengths',
      [20, 20, 50, 20].map((n) => ({ timeout_seconds: n })),
    );
    const sizes = [];
    for (let runs = await claim(client, 'lengths', { limit: 10 }); runs.length > 0; ) {
      sizes.push([runs.length, await lengthOf(runs)]);
      runs = await claim(client, 'lengths', { limit: 10 });
    }
    expect(sizes).toEqual([
      [2, 20],
      [1, 50],
      [1, 20],
    ]);
  });

  test('ends a lease of one priority, also if tasks of other priorities are ready', async () => {
    await client.query(
      `select tock.put_queue('ranks', '{"backoff_base_seconds": 0, "max_attempts": 2}')`,
    );
    const limits = [5, 60, 60];
    const ids = await enqueue(
      client,
      'ranks',
      limits.map((n, priority) => ({ timeout_seconds: n, priority })),
    );
    await enqueue(client, 'ranks', [{ priority: 3 }, { priority: 4 }]);
    const claims = [];
    for (let n = 0; n < 4; n++) claims.push(await claim(client, 'ranks', { limit: 10 }));
    expect(claims.map((runs) => runs.map((run) => run.priority))).toEqual([[0], [1], [2], [3, 4]]);
    expect(await Promise.all(claims.slice(0, 3).map(lengthOf))).toEqual(limits);
    const leases = claims.map(leaseOf);
    await client.query(
      `update tock.leases set leased_until = now() - interval '1 s', timeout_at = now() - interval '1 s' where token = $1`,
      [leases[0]],
    );
    await reap(client);
    expect(await extend(client, leases[0] as string, 60)).toBeUndefined();
    expect(await complete(client, leases[0] as string)).toBeUndefined();
    expect(await extend(client, leases[1] as string, 30)).toBeDefined();
    for (const lease of leases.slice(1)) expect(await complete(client, lease)).toBeDefined();
    expect(await Promise.all(ids.map(state))).toEqual(['ready', 'done', 'done']);
    await expectInvariants(client);
  });

  test("is the queue's when the task has none", async () => {
    await client.query(`select tock.put_queue('of-queue', '{"timeout_seconds": 5}')`);
    await enqueue(client, 'of-queue', [{}]);
    expect(await lengthOf(await claim(client, 'of-queue'))).toBe(5);
  });
});

test.each([
  [{ expires_at: 'tomorrow' }, 'expires_at'],
  [{ expires_in_seconds: -1 }, 'expires_in_seconds'],
  [{ expires_in_seconds: 1, expires_at: '2030-01-01T00:00:00Z' }, 'expires_in_seconds'],
  [{ timeout_seconds: 0 }, 'timeout_seconds'],
  [{ timeout_seconds: 1.5 }, 'timeout_seconds'],
  [{ timeout_seconds: '5' }, 'timeout_seconds'],
  [{ concurrency_key: 5 }, 'concurrency_key'],
  [{ concurrency_key: 'x'.repeat(201) }, 'concurrency_key'],
  [{ backoff: 5 }, 'backoff'],
  [{ backoff: { kind: 'random' } }, 'backoff.kind'],
  [{ backoff: { base_seconds: -1 } }, 'backoff.base_seconds'],
  [{ backoff: { base: 1 } }, 'backoff.base'],
])('%j is refused', async (options, field) => {
  const refused = await refusal(enqueue(client, 'refused', [{}, options]));
  expect(refused).toMatchObject({ code: 'TK422', detail: `tasks[1].${field}` });
  expect(
    await value(client, "select count(*)::int from tock.streams where queue = 'refused'"),
  ).toBe(0);
});
