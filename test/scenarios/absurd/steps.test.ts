import { describe, expect } from 'vitest';
import { LeaseLost, RetryIn } from '../../../client/index.ts';
import { expireLeases, queue, there, tock } from '../../client/service.ts';
import {
  claimed,
  leased,
  resultsOf,
  scenario,
  stepsOf,
  taskOf,
  useTock,
  workers,
} from './scenario.ts';

useTock();

describe.each(workers)('with %s', (_, work) => {
  scenario(
    'a step gives its value to the handler',
    'test_step_executes_and_returns_value',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, { n: 21 });
      await work<{ n: number }>(q, async ({ payload }, { step }) => ({
        doubled: await step('double', () => payload.n * 2),
      }));
      expect(await taskOf(id)).toMatchObject({ state: 'done', result: { doubled: 42 } });
      expect(await stepsOf(id)).toEqual({ double: ['done', 42] });
    },
  );

  scenario(
    'a step that has ended gives the next attempt what it gave the first',
    'test_step_result_is_cached_and_not_reexecuted_on_retry, test_step_persists_and_reuses_checkpoints',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const drawn: number[] = [];
      await work(q, async ({ attempt }, { step }) => {
        const number = await step('draw', () => {
          drawn.push(Math.random());
          return drawn.at(-1);
        });
        if (attempt === 1) throw new RetryIn(0);
        return number;
      });
      expect(drawn).toHaveLength(1);
      expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 2, result: drawn[0] });
    },
  );

  scenario(
    'the next attempt runs only the steps that have not ended',
    'test_multistep_task_only_reexecutes_uncompleted_steps',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const ran: string[] = [];
      await work(q, async ({ attempt }, { step }) => {
        const note = (name: string) => step(name, () => ran.push(`${name} in ${attempt}`));
        const first = [await note('a'), await note('b')];
        if (attempt === 1) throw new RetryIn(0);
        return [...first, await note('c')];
      });
      expect(ran).toEqual(['a in 1', 'b in 1', 'c in 2']);
      expect(await taskOf(id)).toMatchObject({ state: 'done', attempt: 2, result: [1, 2, 3] });
    },
  );

  scenario(
    'steps of one name are numbered, in each attempt alike',
    'test_repeated_step_names_work_correctly',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      await work(q, async ({ attempt }, { step }) => {
        const squares: number[] = [];
        for (const n of [2, 3, 4]) squares.push(await step('square', () => n * n * attempt));
        if (attempt === 1) throw new RetryIn(0);
        return squares;
      });
      expect(await taskOf(id)).toMatchObject({ state: 'done', result: [4, 9, 16] });
      const saved = { square: ['done', 4], 'square#2': ['done', 9], 'square#3': ['done', 16] };
      expect(await stepsOf(id)).toEqual(saved);
    },
  );

  scenario(
    'a step that throws fails the attempt and saves nothing, so the next attempt runs it',
    'test_failed_step_does_not_save_checkpoint_and_reexecutes',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      let between: unknown;
      await work(q, async ({ attempt }, { step }) => {
        if (attempt === 2) between = await tock.steps(id);
        return step('fails once', () => {
          if (attempt === 1) throw new RetryIn(0);
          return 'in the second attempt';
        });
      });
      expect(between).toEqual([]);
      const runs = [{ state: 'failed' }, { state: 'done' }];
      expect(await taskOf(id)).toMatchObject({ result: 'in the second attempt', runs });
    },
  );

  scenario(
    'a worker whose lease has ended saves no step, and the next run of the task does',
    'test_sync_execute_task_swallows_failed_task_checkpoint',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, null);
      const counts = await work(q, async ({ attempt }, { step }) => {
        if (attempt === 1) await expireLeases(there.owner);
        return step('late', () => attempt);
      });
      expect(counts).toMatchObject({ lost: 1, done: 1, failed: 0 });
      expect(await stepsOf(id)).toEqual({ late: ['done', 2] });
    },
  );
});

scenario(
  'a worker that saves its steps by hand reads them first',
  'test_begin_complete_step_result_is_cached_and_not_reexecuted_on_retry',
  async () => {
    const q = queue();
    const { id, lease } = await leased(q);
    expect(await tock.leases.steps(lease.lease, id)).toEqual([]);
    await tock.leases.saveSteps(lease.lease, [{ id, name: 'draw', result: 4 }]);
    await lease.fail({ retry_in_seconds: 0 });
    const again = await claimed(q);
    const saved = await tock.leases.steps(again.lease, id);
    expect(resultsOf(saved)).toEqual({ draw: ['done', 4] });
    expect(await again.complete([{ id, result: saved[0]?.result }])).toMatchObject({
      completed: 1,
    });
  },
);

scenario(
  'a worker that saves its steps by hand numbers them too: the first result of a name stays',
  'test_repeated_begin_complete_step_names_auto_number_correctly',
  async () => {
    const { id, lease } = await leased(queue());
    const names = ['square', 'square', 'square#2'];
    await tock.leases.saveSteps(
      lease.lease,
      names.map((name, n) => ({ id, name, result: n })),
    );
    expect(await stepsOf(id)).toEqual({ square: ['done', 0], 'square#2': ['done', 2] });
  },
);

scenario(
  'an attempt has the steps of all attempts before it',
  'test_checkpoint_preloading_survives_retry',
  async () => {
    const q = queue();
    const id = await tock.enqueue(q, null, { max_attempts: 3 });
    for (const names of [['a', 'b', 'c'], ['d']]) {
      const lease = await claimed(q);
      await tock.leases.saveSteps(
        lease.lease,
        names.map((name) => ({ id, name, result: { name } })),
      );
      await lease.fail({ error: 'no', retry_in_seconds: 0 });
    }
    const last = await claimed(q);
    expect(last.tasks[0]).toMatchObject({ id, attempt: 3 });
    const saved = (await tock.leases.steps(last.lease, id)).map(({ name, result }) => [
      name,
      result,
    ]);
    expect(saved).toEqual(['a', 'b', 'c', 'd'].map((name) => [name, { name }]));
  },
);

scenario(
  'an attempt that has ended reads and saves no steps',
  'test_get_task_checkpoint_states_filters_future_attempts, test_checkpoint_write_on_failed_run_raises_ab002',
  async () => {
    const q = queue();
    const { id, lease } = await leased(q);
    await tock.leases.saveSteps(lease.lease, [{ id, name: 'a', result: 1 }]);
    await lease.fail({ retry_in_seconds: 0 });
    const late = [{ id, name: 'late', result: 0 }];
    await expect(tock.leases.saveSteps(lease.lease, late)).rejects.toBeInstanceOf(LeaseLost);
    await expect(tock.leases.steps(lease.lease, id)).rejects.toBeInstanceOf(LeaseLost);
    const second = await claimed(q);
    await tock.leases.saveSteps(second.lease, [{ id, name: 'b', result: 2 }]);
    await expect(tock.leases.steps(lease.lease, id)).rejects.toBeInstanceOf(LeaseLost);
    const both = { a: ['done', 1], b: ['done', 2] };
    expect(resultsOf(await tock.leases.steps(second.lease, id))).toEqual(both);
  },
);

scenario(
  'a lease reads and saves no steps of a task that it does not have',
  'test_get_task_checkpoint_states_requires_run_task_match',
  async () => {
    const q = queue();
    const mine = await leased(q);
    await tock.leases.saveSteps(mine.lease.lease, [{ id: mine.id, name: 'a', result: 1 }]);
    const { lease: other } = (await leased(q)).lease;
    await expect(tock.leases.steps(other, mine.id)).rejects.toBeInstanceOf(LeaseLost);
    const foreign = [{ id: mine.id, name: 'b', result: 2 }];
    await expect(tock.leases.saveSteps(other, foreign)).rejects.toBeInstanceOf(LeaseLost);
    expect(await stepsOf(mine.id)).toEqual({ a: ['done', 1] });
  },
);

scenario(
  'a step does not extend its lease, a heartbeat does',
  'test_set_checkpoint_extends_claim_lease',
  async () => {
    const { id, lease } = await leased(queue());
    const until = async () => Date.parse((await taskOf(id)).runs[0]?.leased_until ?? '');
    const before = await until();
    await tock.leases.saveSteps(lease.lease, [{ id, name: 'a', result: 1 }]);
    expect(await until()).toBe(before);
    await lease.extend(3600);
    expect(await until()).toBeGreaterThan(before);
  },
);
