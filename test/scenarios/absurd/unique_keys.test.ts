import { describe, expect } from 'vitest';
import { queue, there, tock } from '../../client/service.ts';
import { leased, scenario, taskOf, useTock, workers } from './scenario.ts';

useTock();

const key = { unique_key: 'daily report' };
const forAnHour = { ...key, unique_policy: 'period' as const, unique_seconds: 3600 };

scenario(
  'a task with a key that no task has is added',
  'test_spawn_with_idempotency_key_creates_task',
  async () => {
    const id = await tock.enqueue(queue(), 1, key);
    expect(await taskOf(id)).toMatchObject({ state: 'ready', attempt: 1, payload: 1 });
  },
);

scenario(
  'a second task with the key is not added: the first one is returned, as it is',
  'test_spawn_with_same_idempotency_key_returns_existing_task',
  async () => {
    const q = queue();
    const id = await tock.enqueue(q, 1, key);
    expect(await tock.enqueue(q, 2, key)).toBe(id);
    expect(await taskOf(id)).toMatchObject({ payload: 1 });
    expect((await tock.tasks({ queue: q })).tasks).toHaveLength(1);
  },
);

scenario(
  'tasks without a key, with other keys or in other queues are tasks of their own',
  'test_spawn_without_idempotency_key_always_creates_new_task, test_different_idempotency_keys_create_separate_tasks, ' +
    'idempotent.test.ts: idempotencyKey is scoped to queue',
  async () => {
    const [q, other] = [queue(), queue()];
    const ids = [
      await tock.enqueue(q, 1),
      await tock.enqueue(q, 1),
      await tock.enqueue(q, 1, key),
      await tock.enqueue(q, 1, { unique_key: 'weekly report' }),
      await tock.enqueue(other, 1, key),
    ];
    expect(new Set(ids).size).toBe(5);
  },
);

scenario(
  'a key counts for all that its queue does',
  'test_idempotency_key_works_across_different_task_names',
  async () => {
    const q = queue();
    const id = await tock.enqueue(q, { kind: 'a' }, key);
    expect(await tock.enqueue(q, { kind: 'b' }, key)).toBe(id);
    expect(await taskOf(id)).toMatchObject({ payload: { kind: 'a' } });
  },
);

scenario(
  'by default a key is free when its task has ended, with a period it counts on',
  'test_idempotency_key_persists_after_task_completes',
  async () => {
    for (const [options, stays] of [
      [key, false],
      [forAnHour, true],
    ] as const) {
      const q = queue();
      const { id, lease } = await leased(q, options);
      await lease.complete();
      expect((await tock.enqueue(q, 2, options)) === id).toBe(stays);
    }
  },
);

scenario(
  'a key is free when its period is over',
  'test_idempotency_key_is_released_after_task_cleanup',
  async () => {
    const q = queue();
    const { id, lease } = await leased(q, forAnHour);
    await lease.complete();
    await there.owner.query(
      "update tock.unique_keys set created_at = created_at - interval '2 hours' where queue = $1",
      [q],
    );
    const next = await tock.enqueue(q, 2, forAnHour);
    expect(next).not.toBe(id);
    expect(await taskOf(next)).toMatchObject({ state: 'ready', attempt: 1 });
  },
);

scenario(
  'a call that is repeated with its request id adds one task, also after that has ended',
  'test_idempotency_key_persists_after_task_completes',
  async () => {
    const q = queue();
    const request_id = `report of ${q}`;
    const { id, lease } = await leased(q, { request_id });
    await lease.complete();
    expect(await tock.enqueue(q, null, { request_id })).toBe(id);
    expect(await tock.claim(q)).toBeNull();
  },
);

describe.each(workers)('with %s', (_, work) => {
  scenario(
    'a task that is asked for three times runs once',
    'test_idempotent_spawn_executes_only_once',
    async () => {
      const q = queue();
      for (const n of [1, 2, 3]) await tock.enqueue(q, n, key);
      expect(await work(q, () => {})).toMatchObject({ done: 1 });
    },
  );
});
