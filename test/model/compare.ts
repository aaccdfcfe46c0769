import { expect } from 'vitest';
import { brokenSentences } from '../sql/invariants.ts';
import { rows, value } from '../sql/verbs.ts';
import { type Model, policyOf, type Task, tasksOf } from './model.ts';
import type { ModelDatabase } from './real.ts';
import { shownSteps } from './saved_steps.ts';

const shown = `
  select t.id, t.queue, t.state, t.priority, t.attempt, t.max_attempts, t.lost, t.payload, t.result, (
    select coalesce(json_agg(json_build_object('queue', r -> 'queue', 'attempt', r -> 'attempt', 'state', r -> 'state')), '[]')
    from jsonb_array_elements(t.runs) r) as runs
  from unnest($1::bigint[]) i cross join lateral tock.task(p_id => i) t`;

const expected = (task: Task) => ({
  id: task.id,
  queue: task.queue,
  state: task.state,
  priority: task.priority,
  attempt: task.attempt,
  max_attempts: task.maxAttempts,
  lost: task.lost,
  payload: task.payload,
  result: task.result,
  runs: task.runs,
});

// An expired task may or may not have been promoted before, so its runs are not compared.
const comparable = (task: ReturnType<typeof expected>) =>
  task.state === 'expired' ? { ...task, runs: [] } : task;

async function agreeOnTasks(model: Model, { client }: ModelDatabase): Promise<void> {
  const known = await rows<ReturnType<typeof expected>>(client, shown, [[...model.tasks.keys()]]);
  const byId = new Map(known.map((task) => [task.id, comparable(task)]));
  expect(byId).toEqual(
    new Map(tasksOf(model).map((task) => [task.id, comparable(expected(task))])),
  );
}

async function agreeOnSteps(model: Model, { client }: ModelDatabase): Promise<void> {
  const known = await rows<{ id: string } & ReturnType<typeof shownSteps>[number]>(
    client,
    `select i::text as id, s.name, s.kind, s.state, s.result, s.error, s.event, s.failures
     from unnest($1::bigint[]) i cross join lateral tock.task_steps(p_id => i) s order by i, s.name collate "C"`,
    [[...model.tasks.keys()]],
  );
  const expected = tasksOf(model).flatMap((task) =>
    shownSteps(task).map((step) => ({ id: task.id, ...step })),
  );
  expect(Map.groupBy(known, ({ id }) => id)).toEqual(Map.groupBy(expected, ({ id }) => id));
}

const states = ['waiting', 'ready', 'running', 'done', 'dead', 'cancelled', 'expired'];

type Listed = { queue: string; state: string; ids: string[]; more: boolean };

async function listed(model: Model, { client }: ModelDatabase): Promise<Listed[]> {
  return rows<Listed>(
    client,
    `select q as queue, s as state, t.cursor is not null as more, array(select i ->> 'id' from jsonb_array_elements(t.tasks) i) as ids
     from unnest($1::text[]) q cross join unnest($2::text[]) s
     cross join lateral tock.tasks(jsonb_build_object('queue', q, 'state', s), null, 1000) t`,
    [model.queues, states],
  );
}

async function agreeOnLists(model: Model, real: ModelDatabase): Promise<void> {
  for (const { queue, state, ids, more } of await listed(model, real)) {
    const those = tasksOf(model).filter((task) => task.queue === queue && task.state === state);
    expect(more).toBe(false);
    expect(ids.sort(), `${state} in ${queue}`).toEqual(those.map(({ id }) => id).sort());
  }
}

async function agreeOnQueue(model: Model, real: ModelDatabase, queue: string): Promise<void> {
  const here = tasksOf(model).filter((task) => task.queue === queue);
  const count = (state: string) => here.filter((task) => task.state === state).length;
  const [stats] = await rows<Record<string, unknown>>(
    real.client,
    'select paused, ready::int, running::int, waiting::int, dead::int from tock.queue_stats($1)',
    [queue],
  );
  // queue_stats counts an expired run until a claim has skipped it.
  const over = count('expired');
  const { ready, waiting, ...others } = stats ?? {};
  expect(others, `queue_stats of ${queue}`).toEqual({
    paused: model.paused.has(queue),
    running: count('running'),
    dead: count('dead'),
  });
  for (const [name, seen] of [
    ['ready', ready],
    ['waiting', waiting],
  ] as const) {
    expect(seen, `${name} in ${queue}`).toBeGreaterThanOrEqual(count(name));
    expect(seen, `${name} in ${queue}`).toBeLessThanOrEqual(count(name) + over);
  }
}

/** Compares every task and queue, as the verbs show them, with the model. */
export async function compareWithModel(model: Model, real: ModelDatabase): Promise<void> {
  await agreeOnTasks(model, real);
  await agreeOnSteps(model, real);
  await agreeOnLists(model, real);
  for (const queue of model.queues) await agreeOnQueue(model, real, queue);
}

/** Results that no outcome can have. Constraints for them would cost too much on each insert. */
const strange = `
  select e.* from tock.results e where case e.state
    when 'done' then e.error is not null
    when 'superseded' then e.next_id is null or e.result is not null or e.error is not null
    when 'lost' then e.result is not null or e.error is null
    when 'failed' then e.result is not null
    else e.next_id is not null end`;

export async function expectConsistent({ client }: ModelDatabase): Promise<void> {
  expect(await brokenSentences(client)).toEqual({});
  expect(await rows(client, strange)).toEqual([]);
}

/**
 * Sets the policies of the queues. Backoff and leases last an hour, so nothing falls due before a step moves the
 * time.
 */
export async function settings({ client }: ModelDatabase, queues: string[]): Promise<void> {
  const backoff = { backoff_kind: 'fixed', backoff_base_seconds: 3600, backoff_jitter: 0 };
  for (const queue of queues) {
    const policy = { ...policyOf(queue), ...backoff, lease_seconds: 3600 };
    await value(client, 'select tock.put_queue($1, $2)', [queue, JSON.stringify(policy)]);
  }
}
