import { describe, expect } from 'vitest';
import type { Handler } from '../../../client/index.ts';
import { queue, there, tock } from '../../client/service.ts';
import { erase } from '../../sql/kernel/change/changes.ts';
import { advance, claimed, leased, scenario, taskOf, useTock, workers } from './scenario.ts';

useTock();

scenario(
  'an unknown task has no result',
  'test_get_task_result_returns_none_for_unknown_task',
  async () => {
    expect(await tock.task('987654321987')).toBeNull();
  },
);

scenario(
  'a task is ready, running, waiting, running again and done, and only then has a result',
  'test_get_task_result_tracks_lifecycle_states, test_fetch_task_result_tracks_lifecycle, test_spawn_claim_complete_flow',
  async () => {
    const q = queue();
    const id = await tock.enqueue(q, null);
    const seen: unknown[] = [];
    const look = async () => {
      const { state, result, error } = await taskOf(id);
      seen.push([state, result, error]);
    };
    await look();
    const first = await claimed(q);
    await look();
    await tock.leases.saveSteps(first.lease, [{ id, name: 'nap', sleep_seconds: 300 }]);
    await look();
    await advance(301);
    const second = await claimed(q);
    await look();
    await second.complete([{ id, result: { ok: true } }]);
    await look();
    const states = ['ready', 'running', 'waiting', 'running'].map((state) => [state, null, null]);
    expect(seen).toEqual([...states, ['done', { ok: true }, null]]);
  },
);

scenario(
  'a dead task has the error of its last attempt, a cancelled one nothing',
  'test_get_task_result_returns_failure_reason_for_failed_task, test_get_task_result_for_cancelled_task_has_no_payload',
  async () => {
    const q = queue();
    const error = { name: 'Error', message: 'boom' };
    const { id, lease } = await leased(q, { max_attempts: 1 });
    await lease.fail({ error });
    expect(await taskOf(id)).toMatchObject({ state: 'dead', result: null, error });
    const cancelled = await tock.enqueue(q, null);
    await tock.cancel([cancelled]);
    expect(await taskOf(cancelled)).toMatchObject({
      state: 'cancelled',
      result: null,
      error: null,
    });
  },
);

scenario(
  'a caller that waits for a task gets it when it has ended',
  'test_async_await_task_result_resolves',
  async () => {
    const { id, lease } = await leased(queue());
    const ended = tock.task(id, { wait_seconds: 30 });
    await lease.complete([{ id, result: 'done' }]);
    expect(await ended).toMatchObject({ state: 'done', result: 'done' });
  },
);

scenario(
  'a caller that waits in vain gets the task as it is, and a negative time is refused',
  'test_await_task_result_times_out, task-result.test.ts: awaitTaskResult rejects invalid timeout values',
  async () => {
    const id = await tock.enqueue(queue(), null);
    expect(await tock.task(id, { wait_seconds: 1 })).toMatchObject({ state: 'ready' });
    const refused = { status: 422, field: 'wait_seconds' };
    await expect(tock.task(id, { wait_seconds: -1 })).rejects.toMatchObject(refused);
  },
);

describe.each(workers)('with %s', (_, work) => {
  scenario(
    'a parent waits for its child without a worker, also in its own queue',
    'test_task_context_await_task_result_waits_for_terminal_state, test_task_context_await_task_result_rejects_same_queue',
    async () => {
      const q = queue();
      const id = await tock.enqueue(q, 'parent');
      const both: Handler = ({ payload }, { spawn }) => {
        if (payload === 'parent') spawn({ tasks: [{ payload: 'child' }], wait: true });
        return payload === 'child' ? 'from the child' : payload;
      };
      await work(q, both);
      const { state, result } = await taskOf(id);
      expect(state).toBe('done');
      expect(result).toMatchObject({ children: [{ state: 'done', result: 'from the child' }] });
    },
  );

  scenario(
    'a parent that is tried again has the result of its child, even if the child was erased',
    'TestTaskContextAwaitTaskResultCheckpointSurvivesChildCleanupOnRetry',
    async () => {
      const [q, children] = [queue(), queue()];
      const id = await tock.enqueue(q, 'parent', { backoff: { base_seconds: 0 } });
      const parent: Handler = async (task, { spawn }) => {
        const { payload } = task;
        if (payload === 'parent')
          return spawn({ queue: children, tasks: [{ payload: 1 }], wait: true });
        const [child] = (payload as { children: { id: string; result: unknown }[] }).children;
        if ((await taskOf(id)).runs.some(({ state }) => state === 'failed')) return child?.result;
        await erase(there.owner, child?.id ?? '');
        throw new Error('the first attempt after the child fails');
      };
      await work(q, parent);
      await work(children, () => 'from the child');
      await work(q, parent);
      expect(await taskOf(id)).toMatchObject({ state: 'done', result: 'from the child' });
    },
  );
});
