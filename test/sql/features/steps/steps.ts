import type pg from 'pg';
import { expect } from 'vitest';
import { client } from '../../test_database.ts';
import { claim, enqueue, type Run, row, rows } from '../../verbs.ts';

export type Saved = {
  id: string;
  name: string;
  state: string;
  result: unknown;
  error: unknown;
  due_at: Date | null;
  cancel_requested: boolean;
};

export type Step = Omit<Saved, 'id' | 'cancel_requested'> & { kind: string; failures: number };

export const saveAll = (lease: string, steps: object[], on: pg.Client = client) =>
  rows<Saved>(on, 'select * from tock.save_steps(p_lease => $1, p_steps => $2)', [
    lease,
    JSON.stringify(steps),
  ]);

/** Saves one step of a run. */
export async function save(run: Run, step: object, on: pg.Client = client): Promise<Saved> {
  const [saved] = await saveAll(run.lease, [{ id: run.id, ...step }], on);
  return saved as Saved;
}

export const signal = (event: string, payload: unknown = null, on: pg.Client = client) =>
  row<{ accepted: boolean; woken: number }>(
    on,
    'select * from tock.signal(p_event => $1, p_payload => $2)',
    [event, JSON.stringify(payload)],
  );

/** The steps of a task, each with its state and its result. */
export const stepsOf = async (id: string) =>
  Object.fromEntries(
    (await rows<Step>(client, 'select * from tock.task_steps(p_id => $1)', [id])).map((step) => [
      step.name,
      [step.state, step.result],
    ]),
  );

export async function begun(options: object = {}, queue = 'q'): Promise<Run> {
  await enqueue(client, queue, [options]);
  return next(queue);
}

/** The run of the next task of the queue. */
export async function next(queue = 'q'): Promise<Run> {
  const [run] = await claim(client, queue);
  expect(run, `a ready task in ${queue}`).toBeDefined();
  return run as Run;
}

/** Makes the waiting rows of all tasks due, and promotes them. */
export async function wake(on: pg.Client = client): Promise<void> {
  await on.query(
    "update tock.waiting set due_at = now() - interval '1 s' where due_at < 'infinity'",
  );
  await on.query(
    "update tock.steps set due_at = now() - interval '1 s' where due_at is not null and kind <> 'child'",
  );
  await on.query(`update tock.waiting set options = options || '{"wake_at": "2000-01-01Z"}'
    where options ? 'wake_at'`);
  await on.query('select tock.promote(p_sweep => true)');
}

/** Makes due the next look at the children for which tasks wait, as time would. */
export async function sweep(): Promise<void> {
  await client.query(`update tock.waiting set due_at = now() - interval '1 s'
    where due_after_parents is not null and due_at < now() + interval '1 day'`);
  await client.query('select tock.promote(p_sweep => true)');
}

/** The saved steps that a worker gets with its lease. */
export async function claimedSteps(run: Run): Promise<Step[]> {
  const { steps } = await row<{ steps: Record<string, { steps: Step[] }> }>(
    client,
    'select tock.lease_headers(p_lease => $1) as steps',
    [run.lease],
  );
  return steps[run.run_id]?.steps ?? [];
}
