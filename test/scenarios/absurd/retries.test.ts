import { describe, expect } from 'vitest';
import { type Handler, LeaseLost, RetryIn } from '../../../client/index.ts';
import { queue, there, tock } from '../../client/service.ts';
import { expireTask, value } from '../../sql/verbs.ts';
import {
  advance,
  claimed,
  leased,
  scenario,
  stepsOf,
  taskOf,
  useTock,
  workers,
} from './scenario.ts';

useTock();

const databaseTime = async () =>
  (await value<Date>(there.owner, 'select clock_timestamp()')).getTime();

/** Fails the only task of a queue, expects it to wait for so long, and lets that time pass. */
async function failsAndWaits(q: string, seconds: number, outcome = {}): Promise<void> {
  const lease = await claimed(q);
  const before = await databaseTime();
  await lease.fail({ error: 'no', ...outcome });
  const after = await databaseTime();
  const due = Date.parse((await taskOf(lease.tasks[0]?.id ?? '')).run_at ?? '');
  // Dates of JavaScript have milliseconds, those of the database microseconds.
  expect(due).toBeGreaterThanOrEqual(before + seconds * 1000 - 1);
  expect(due).toBeLessThanOrEqual(after + seconds * 1000 + 1);
  await advance(seconds + 1);
}

const failsOnce: Handler = ({ attempt }) => {
  if (attempt === 1) throw new Error('the first attempt fails');
  return attempt;
};

describe.each(workers)('with %s', (_, work) => {
  scenario(
    'a task with a backoff of no time is tried again at once, any other waits',
    'test_fail_run_without_strategy_requeues_immediately',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null, { backoff: { base_seconds: 0 } });
      expect(await work(q, failsOnce)).toMatchObject({ failed: 1, done: 1 });
      expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 2, result: 2 });
      const usual = await tock.enqueue(q, null);
      expect(await work(q, failsOnce)).toMatchObject({ failed: 1, done: 0 });
      expect(await taskOf(usual)).toMatchObject({ state: 'waiting' });
    },
  );

  scenario(
    'a task is dead after its last attempt, and its own number of attempts goes before that of its queue',
    'test_task_fails_permanently_after_max_attempts, test_registered_task_without_retry_default_uses_client_default',
    async () => {
      const q = queue();
      await tock.call('PUT', `/v1/queues/${q}`, { max_attempts: 3, backoff_base_seconds: 0 });
      const own = await tock.enqueue(q, null, { max_attempts: 2 });
      const usual = await tock.enqueue(q, null);
      const counts = await work(q, () => {
        throw new Error('never');
      });
      expect(counts).toMatchObject({ failed: 5 });
      expect(await taskOf(own)).toMatchObject({ state: 'dead', attempt: 2 });
      expect(await taskOf(usual)).toMatchObject({ state: 'dead', attempt: 3 });
    },
  );

  scenario(
    'what a handler throws is stored with its stack, and fails no other task',
    'TestFailureIncludesTraceback, TestRunWorkerRecoversTaskPanics',
    async () => {
      const q = queue();
      const [bad, good] = [await tock.enqueue(q, true), await tock.enqueue(q, false)];
      await work(q, ({ payload }) => {
        if (payload) throw new TypeError('boom');
      });
      const stack = expect.stringContaining('retries.test.ts');
      const error = { name: 'TypeError', message: 'boom', stack };
      expect((await taskOf(bad)).runs).toMatchObject([{ state: 'failed', error }]);
      expect(await taskOf(good)).toMatchObject({ state: 'done' });
    },
  );

  scenario(
    'a failure may say when its task is tried again',
    'test_fail_run_respects_explicit_retry_at',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null, { backoff: { base_seconds: 1 } });
      const later: Handler = ({ attempt }) => {
        if (attempt === 1) throw new RetryIn(90_000);
      };
      await work(q, later);
      await advance(60_000);
      expect(await work(q, later)).toMatchObject({ done: 0 });
      await advance(30_001);
      expect(await work(q, later)).toMatchObject({ done: 1 });
      expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 2 });
    },
  );
});

scenario(
  'an exponential backoff grows with each failure up to its cap, and the last failure is the end',
  'test_exponential_backoff_retry_strategy, test_fail_run_exponential_strategy_and_max_attempts',
  async () => {
    const q = queue();
    const times = { base_seconds: 40, factor: 2, cap_seconds: 90, jitter: 0 };
    const backoff = { kind: 'exponential' as const, ...times };
    const id = await tock.enqueue(q, null, { max_attempts: 4, backoff });
    for (const seconds of [40, 80, 90]) await failsAndWaits(q, seconds);
    expect(await (await claimed(q)).fail({ error: 'no' })).toMatchObject({ dead: 1 });
    expect(await taskOf(id)).toMatchObject({ state: 'dead', attempt: 4 });
  },
);

scenario('a fixed backoff stays the same', 'test_fixed_backoff_retry_strategy', async () => {
  const q = queue();
  const id = await tock.enqueue(q, null, {
    backoff: { kind: 'fixed', base_seconds: 10, jitter: 0 },
  });
  for (const seconds of [10, 10]) await failsAndWaits(q, seconds);
  await (await claimed(q)).complete();
  expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 3 });
});

scenario(
  'a rerun is a new task of the same payload without steps, and the dead one stays as it is',
  'test_retry_task_spawn_new_task_with_same_inputs, test_retry_task_defaults_to_one_more_attempt_when_not_provided, ' +
    'test_retry_task_extends_attempts_on_failed_task',
  async () => {
    const q = queue();
    const options = { max_attempts: 1, headers: { 'x-trace': 'abc' } };
    const id = await tock.enqueue(q, { n: 1 }, options);
    const lease = await claimed(q);
    await tock.leases.saveSteps(lease.lease, [{ id, name: 'a', result: 1 }]);
    await lease.fail({ error: 'no' });
    const [again] = await tock.rerun([id]);
    expect(again?.rerun_id).not.toBe(id);
    const [run] = (await claimed(q)).tasks;
    const same = { payload: { n: 1 }, headers: options.headers, max_attempts: 1 };
    expect(run).toMatchObject({ id: again?.rerun_id, attempt: 1, ...same });
    expect(await stepsOf(run?.id ?? '')).toEqual({});
    expect(await taskOf(id)).toMatchObject({ state: 'dead', attempt: 1 });
    expect(await stepsOf(id)).toEqual({ a: ['done', 1] });
  },
);

scenario(
  'a task whose lease has expired goes to another worker, with its steps, and counts as lost',
  'test_claim_timeout_releases_run_to_new_worker',
  async () => {
    const q = queue();
    const id = await tock.enqueue(q, null);
    const first = await claimed(q, { worker: 'a', lease_seconds: 3600 });
    await tock.leases.saveSteps(first.lease, [{ id, name: 'a', result: 1 }]);
    expect(await tock.claim(q)).toBeNull();
    await advance(3601);
    const second = await claimed(q, { worker: 'b' });
    expect(second.tasks).toMatchObject([{ id, attempt: 2 }]);
    expect(await tock.leases.steps(second.lease, id)).toMatchObject([{ name: 'a', result: 1 }]);
    await expect(first.complete()).rejects.toBeInstanceOf(LeaseLost);
    const runs = [
      { state: 'lost', worker: 'a' },
      { state: 'running', worker: 'b' },
    ];
    expect(await taskOf(id)).toMatchObject({ state: 'running', lost: 1, runs });
  },
);

scenario(
  'a task that has not started when it expires never starts',
  'test_cancellation_by_max_delay',
  async () => {
    const q = queue();
    const id = await tock.enqueue(q, null, { expires_in_seconds: 60 });
    await expireTask(there.owner, id);
    expect(await tock.claim(q)).toBeNull();
    expect(await taskOf(id)).toMatchObject({ state: 'expired', runs: [{ started_at: null }] });
  },
);

scenario(
  'a task that has expired is not tried again, and its history stays',
  'test_cancellation_by_max_duration, test_retry_flow_and_cancellation, ' +
    'test_claim_time_cancellation_preserves_terminal_run_history',
  async () => {
    const q = queue();
    const { id, lease } = await leased(q, { expires_in_seconds: 90 });
    await lease.fail({ error: 'no', retry_in_seconds: 30 });
    await expireTask(there.owner, id);
    await advance(31);
    expect(await tock.claim(q)).toBeNull();
    const { state, runs } = await taskOf(id);
    expect([state, runs[0]?.state, runs[0]?.error]).toEqual(['expired', 'failed', 'no']);
  },
);
