import { describe, expect } from 'vitest';
import { LeaseLost } from '../../../client/index.ts';
import { queue, tock } from '../../client/service.ts';
import { leased, scenario, stepsOf, taskOf, useTock, workers } from './scenario.ts';

useTock();

describe.each(workers)('with %s', (_, work) => {
  scenario(
    'a task that is cancelled in the middle ends after its present step, whose result is saved',
    'test_cancel_prevents_checkpoint_writes, test_manual_cancel_running_task, ' +
      'test_sync_execute_task_swallows_cancelled_task_on_complete_run',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const ran: string[] = [];
      const counts = await work(q, async (_task, { step }) => {
        await step('first', async () => {
          ran.push('first');
          await tock.cancel([id]);
          return 'its effect has happened';
        });
        await step('second', () => ran.push('second'));
      });
      expect(counts).toMatchObject({ cancelled: 1, done: 0, failed: 0 });
      expect(ran).toEqual(['first']);
      expect(await taskOf(id)).toMatchObject({ state: 'cancelled' });
      expect(await stepsOf(id)).toEqual({ first: ['done', 'its effect has happened'] });
    },
  );

  scenario(
    'a task that is cancelled while it runs does not begin to wait',
    'test_cancel_prevents_await_event',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      await work(q, async (_task, { waitFor }) => {
        await tock.cancel([id]);
        await waitFor('approval', `${q}/approved`);
      });
      expect(await taskOf(id)).toMatchObject({ state: 'cancelled' });
      expect(await tock.signal(`${q}/approved`)).toMatchObject({ woken: 0 });
      expect(await tock.claim(q)).toBeNull();
    },
  );

  scenario(
    'a task that waits for an event is cancelled at once, and the event does not wake it',
    'test_cancel_sleeping_task',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      await work(q, (_task, { waitFor }) => waitFor('approval', `${q}/approved`));
      expect(await tock.cancel([id])).toMatchObject([{ state: 'cancelled', changed: true }]);
      expect(await tock.signal(`${q}/approved`)).toMatchObject({ woken: 0 });
      expect(await work(q, () => {})).toMatchObject({ done: 0 });
      expect(await taskOf(id)).toMatchObject({ state: 'cancelled' });
    },
  );
});

scenario(
  'a task that has not started is cancelled at once, and never starts',
  'test_manual_cancel_pending_task',
  async () => {
    const q = queue();
    const id = await tock.enqueue(q, null);
    expect(await tock.cancel([id])).toMatchObject([{ id, state: 'cancelled', changed: true }]);
    expect(await taskOf(id)).toMatchObject({ state: 'cancelled', ended_at: expect.any(String) });
    expect(await tock.claim(q)).toBeNull();
  },
);

scenario(
  'the worker of a cancelled task hears of it with its heartbeat, which still extends the lease',
  'test_cancel_prevents_extend_claim, test_manual_cancel_running_task',
  async () => {
    const { id, lease } = await leased(queue());
    expect(await tock.cancel([id])).toMatchObject([{ state: 'running', changed: true }]);
    expect(await lease.extend()).toMatchObject({ runs: 1, cancel: [id] });
    expect(await taskOf(id)).toMatchObject({
      state: 'running',
      runs: [{ cancel_requested: true }],
    });
  },
);

scenario(
  'a worker may complete a task that was cancelled meanwhile',
  'test_cancelled_run_blocks_complete_run_with_ab001',
  async () => {
    const { id, lease } = await leased(queue());
    await tock.cancel([id]);
    expect(await lease.complete([{ id, result: 'done' }])).toMatchObject({ completed: 1 });
    expect(await taskOf(id)).toMatchObject({ state: 'done', result: 'done' });
  },
);

scenario(
  'a cancelled task that fails is cancelled, and is not tried again',
  'test_sync_execute_task_swallows_cancelled_task_on_fail_run',
  async () => {
    const q = queue();
    const { id, lease } = await leased(q);
    await tock.cancel([id]);
    await lease.fail({ error: 'no', retry_in_seconds: 0 });
    expect(await taskOf(id)).toMatchObject({ state: 'cancelled', error: 'no' });
    expect(await tock.claim(q)).toBeNull();
  },
);

scenario(
  'a run that has failed can not be completed',
  'test_failed_run_blocks_complete_run_with_ab002',
  async () => {
    const { id, lease } = await leased(queue());
    await lease.fail({ error: 'no', fatal: true });
    await expect(lease.complete()).rejects.toBeInstanceOf(LeaseLost);
    expect(await taskOf(id)).toMatchObject({ state: 'dead', error: 'no' });
  },
);

scenario('a second cancel changes nothing', 'test_cancel_idempotent', async () => {
  const id = await tock.enqueue(queue(), null);
  await tock.cancel([id]);
  const before = await taskOf(id);
  expect(await tock.cancel([id])).toMatchObject([{ state: 'cancelled', changed: false }]);
  expect(await taskOf(id)).toEqual(before);
});

scenario(
  'a task that is done or dead is not cancelled',
  'test_cancel_completed_task_noop, test_cancel_failed_task_noop',
  async () => {
    const q = queue();
    const done = await leased(q);
    await done.lease.complete();
    const dead = await leased(q);
    await dead.lease.fail({ fatal: true });
    const states = (await tock.cancel([done.id, dead.id])).map(({ state, changed }) => [
      state,
      changed,
    ]);
    expect(states.sort()).toEqual([
      ['dead', false],
      ['done', false],
    ]);
  },
);

scenario('an unknown task is left out of the answer', 'test_cancel_nonexistent_task', async () => {
  expect(await tock.cancel(['987654321987'])).toEqual([]);
});
