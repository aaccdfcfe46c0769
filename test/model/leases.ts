import { expect } from 'vitest';
import * as sql from '../sql/verbs.ts';
import { newTask } from './enqueues.ts';
import {
  complete,
  fail,
  goOn,
  type Lease,
  lose,
  type Model,
  runningIn,
  type Task,
  tasksOf,
} from './model.ts';
import type { ModelDatabase } from './real.ts';
import type { Step } from './steps.ts';

type Of<Do extends Step['do']> = Extract<Step, { do: Do }>;

const readyIn = (model: Model, queue: string) =>
  tasksOf(model).filter((task) => task.queue === queue && task.state === 'ready');

export async function doClaim(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'claim'>,
): Promise<void> {
  const full = model.queues.filter((candidate) => readyIn(model, candidate).length > 0);
  const [queue = ''] =
    full.length > 0 && step.queue % 4 > 0 ? full : [model.queues[step.queue % 2]];
  const runs = await sql.claim(client, queue, { limit: step.limit, worker: 'w' });
  const ready = readyIn(model, queue);
  if (ready.length === 0 || model.paused.has(queue)) return expect(runs).toEqual([]);
  expect(runs.length, 'claimed').toBeGreaterThan(0);
  expect(runs.length, 'claimed').toBeLessThanOrEqual(step.limit);
  const token = sql.leaseOf(runs);
  expect(model.leases.has(token), 'the token of an earlier lease').toBe(false);
  for (const run of runs) {
    const task = model.tasks.get(run.id);
    expect(task?.state, `claimed ${run.id}`).toBe('ready');
    if (!task) continue;
    expect(run).toMatchObject({
      lease: token,
      attempt: task.attempt,
      max_attempts: task.maxAttempts,
      priority: task.priority,
      payload: task.payload,
    });
    task.state = 'running';
    task.lease = token;
    (task.runs.at(-1) as { state: string }).state = 'running';
  }
  // A claim begins with the first priority that has ready tasks.
  const first = Math.min(...ready.map(({ priority }) => priority));
  expect(runs[0]?.priority, 'the priority that comes first').toBe(first);
  model.leases.set(token, { queue, ids: runs.map(({ id }) => id), touched: false, lost: false });
}

type Picked = { token: string; lease: Lease; running: Task[] };

const openLeases = (model: Model) =>
  [...model.leases.keys()].filter((token) => runningIn(model, token).length > 0);
export const lostLeases = (model: Model) =>
  [...model.leases].filter(([, lease]) => lease.lost && !lease.touched).map(([token]) => token);

export function pickLease(model: Model, n: number): Picked | undefined {
  const open = openLeases(model);
  const token = open[n % open.length];
  if (!token) return undefined;
  return { token, lease: model.leases.get(token) as Lease, running: runningIn(model, token) };
}

/** Picks some of a lease's running tasks. null stands for all that are left, without ids. */
const parts = (running: Task[], some: number[] | null) =>
  some && [...new Set(some.map((n) => running[n % running.length] as Task))];

/** A task that is not in the lease. */
const strangerTo = (model: Model, { ids }: Lease) =>
  tasksOf(model).find(({ id }) => !ids.includes(id))?.id;

export async function doComplete(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'complete' | 'release'>,
) {
  const picked = pickLease(model, step.lease) as Picked;
  const part = parts(picked.running, step.some);
  const stranger = part && step.stranger ? strangerTo(model, picked.lease) : undefined;
  const refused = stranger ? [stranger] : [];
  const ending = part ?? picked.running;
  const result = (task: Task) => (part && step.result ? { of: task.id } : null);
  const spawned =
    step.do === 'complete' && part && step.spawn !== null
      ? { spawned: step.spawn, by: model.steps }
      : null;
  const other = model.queues[(step.spawn ?? 0) % 2] as string;
  const done =
    step.do === 'release'
      ? await sql.release(client, picked.token, part && [...part.map(({ id }) => id), ...refused])
      : await sql.complete(
          client,
          picked.token,
          part && [
            ...part.map((task, n) => ({
              id: task.id,
              result: result(task),
              ...(n === 0 && spawned && { spawn: { queue: other, tasks: [{ payload: spawned }] } }),
            })),
            ...refused.map((id) => ({ id })),
          ],
        );
  const count = done && ('completed' in done ? done.completed : done.released);
  expect(done?.refused).toEqual(refused);
  if (part || !picked.lease.touched) expect(count).toBe(ending.length);
  else expect(count).toBeGreaterThanOrEqual(ending.length);
  picked.lease.touched = true;
  for (const task of ending) {
    if (step.do === 'complete') complete(task, result(task));
    else goOn(task, 'superseded', false, {});
  }
  if (spawned) await meet(model, client, other, spawned);
}

/** Adds the spawned task to the model. The completion does not return its id, so its payload finds it. */
async function meet(model: Model, client: ModelDatabase['client'], queue: string, payload: object) {
  const ids = await sql.value<string[]>(
    client,
    `select array_agg((r.position << 20 | r.stream)::text) from tock.runs r
     join tock.streams s on s.number = r.stream where s.queue = $1 and r.payload::jsonb = $2`,
    [queue, payload],
  );
  expect(ids, 'spawned').toHaveLength(1);
  newTask(model, ids[0] as string, queue, { payload });
}

export async function doFail(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'fail'>,
): Promise<void> {
  const picked = pickLease(model, step.lease) as Picked;
  const part = parts(picked.running, step.some);
  const ending = part ?? picked.running;
  const how = {
    error: { name: 'Broken', step: model.steps },
    ...(step.retry === 'fatal' && { fatal: true }),
    ...(step.retry === 'now' && { retry_in_seconds: 0 }),
    ...(step.retry === 'later' && { retry_in_seconds: 3600 }),
  };
  const done = await sql.fail(
    client,
    picked.token,
    part ? part.map(({ id }) => ({ id, ...how })) : how,
  );
  for (const task of ending) fail(task, step.retry === 'fatal', step.retry !== 'now');
  const dead = ending.filter(({ state }) => state === 'dead').length;
  expect(done).toEqual({ failed: ending.length, dead, refused: [] });
  picked.lease.touched = true;
}

export async function doLease(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'extend' | 'lose'>,
) {
  const { token, lease, running } = pickLease(model, step.lease) as Picked;
  if (step.do === 'extend') {
    const [answer] = await sql.rows<{ runs: number; cancel: string[] }>(
      client,
      'select runs, cancel from tock.extend(p_lease => $1, p_seconds => 7200)',
      [token],
    );
    const cancelled = running.filter(({ pending }) => pending.cancelled).map(({ id }) => id);
    // After a partial end extend() may still count the ended runs of a stream, until all runs of that stream
    // have ended.
    expect(answer?.runs).toBeGreaterThanOrEqual(running.length);
    if (!lease.touched) expect(answer?.runs).toBe(running.length);
    expect([...(answer?.cancel ?? [])].sort()).toEqual(cancelled.sort());
    return;
  }
  await client.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where token = $1 and closed_at is null",
    [token],
  );
  const { rowCount } = await client.query(
    `update tock.leases l set leased_until = now() - interval '1 minute' from tock.streams s
     where l.closed_at is null and s.number = l.stream and s.queue = $1 and l.token = $2`,
    [lease.queue, token],
  );
  expect(rowCount).toBeGreaterThan(0);
  expect(await sql.reap(client)).toBe(running.length);
  for (const task of running) lose(task);
  lease.lost = true;
}

/** Completes, fails, releases and extends a lost lease, and saves a step. Each call must answer nothing and change nothing. */
export async function doStale(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'stale'>,
): Promise<void> {
  const lost = lostLeases(model);
  const token = lost[step.lease % lost.length] as string;
  const { ids } = model.leases.get(token) as Lease;
  expect(await sql.complete(client, token)).toBeUndefined();
  expect(await sql.complete(client, token, [{ id: ids[0] }])).toBeUndefined();
  expect(await sql.fail(client, token, { error: { stale: true } })).toBeUndefined();
  expect(await sql.release(client, token)).toBeUndefined();
  expect(await sql.extend(client, token)).toBeUndefined();
  const steps = JSON.stringify([{ id: ids[0], name: 'stale', result: true }]);
  const saved = 'select state from tock.save_steps(p_lease => $1, p_steps => $2)';
  expect(await sql.value(client, saved, [token, steps])).toBe('lost');
}
