import { afterEach, describe, expect, vi } from 'vitest';
import type { Handler } from '../../../client/index.ts';
import { queue, there, tock } from '../../client/service.ts';
import { advance, scenario, stepsOf, taskOf, useTock, workers } from './scenario.ts';

useTock();
afterEach(() => void vi.useRealTimers());

describe.each(workers)('with %s', (_, work) => {
  scenario(
    'a task sleeps until its time without a worker, and no attempt is counted',
    'test_sleep_for_suspends_until_duration_elapses, test_schedule_run_moves_task_between_running_and_sleeping, ' +
      'test_sync_worker_suspends_until_alarm, test_sleep_for_schedules_future_run',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null, { max_attempts: 1 });
      const nap: Handler = async (_task, { sleep }) => {
        await sleep('nap', { hours: 1 });
        return 'awake';
      };
      expect(await work(q, nap)).toMatchObject({ released: 1, failed: 0 });
      const [step] = (await tock.steps(id)) ?? [];
      expect(step).toMatchObject({ name: 'nap', kind: 'sleep', state: 'waiting' });
      expect(await taskOf(id)).toMatchObject({ state: 'waiting', run_at: step?.due_at });
      expect(await work(q, nap)).toMatchObject({ released: 0, done: 0 });
      await advance(3601);
      expect(await work(q, nap)).toMatchObject({ done: 1 });
      expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 1, result: 'awake' });
    },
  );

  scenario(
    'a time span is counted by the clock of the database, not by that of the worker',
    'test_sleep_for_schedules_relative_to_database_clock',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
      await work(q, (_task, { sleep }) => sleep('nap', { hours: 1 }));
      const text = 'select extract(epoch from run_at - now())::float8 as left from tock.task($1)';
      const { left } = (await there.owner.query(text, [id])).rows[0];
      expect(left).toBeLessThanOrEqual(3600);
    },
  );

  scenario(
    'a sleep until a date that has come is over, and is not begun anew',
    'test_sleep_until_checkpoint_prevents_rescheduling, test_sleep_until_checkpoint_prevents_infinite_reschedule',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const date = new Date(Date.now() + 3_600_000);
      let runs = 0;
      const untilDate: Handler = async (_task, { sleep }) => {
        runs++;
        await sleep('until', date);
        return runs;
      };
      await work(q, untilDate);
      expect(Date.parse((await taskOf(id)).run_at ?? '')).toBe(date.getTime());
      await advance(3601);
      await work(q, untilDate);
      expect(await taskOf(id)).toMatchObject({ state: 'done', result: 2 });
      expect(await stepsOf(id)).toEqual({ until: ['done', null] });
    },
  );

  scenario(
    'a task sleeps several times, each under a name',
    'test_sleep_until_checkpoint_with_multiple_sleep_steps',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const naps: Handler = async (_task, { sleep }) => {
        await sleep('short', { minutes: 5 });
        await sleep('long', { minutes: 10 });
      };
      const seen: unknown[] = [];
      for (const seconds of [301, 601]) {
        await work(q, naps);
        seen.push(await stepsOf(id));
        await advance(seconds);
      }
      expect(seen).toEqual([
        { short: ['waiting', null] },
        { short: ['done', null], long: ['waiting', null] },
      ]);
      expect(await work(q, naps)).toMatchObject({ done: 1 });
      expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 1 });
    },
  );
});
