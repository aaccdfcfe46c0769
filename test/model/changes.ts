import { expect } from 'vitest';
import * as sql from '../sql/verbs.ts';
import { someTasks } from './enqueues.ts';
import { cancel, change, come, fresh, isUnended, type Model, type Task, tasksOf } from './model.ts';
import type { ModelDatabase } from './real.ts';
import { stepsFallDue } from './saved_steps.ts';
import type { Step } from './steps.ts';
import { expire, timePasses } from './time.ts';

type Of<Do extends Step['do']> = Extract<Step, { do: Do }>;
type Changed = { id: string; state: string; changed: boolean };

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
const idsOf = (tasks: Task[]) => tasks.map(({ id }) => id);

export async function doCancel(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'cancel' | 'rerun'>,
) {
  const tasks = someTasks(model, step.some);
  const answer = await sql.rows<Changed>(client, 'select * from tock.cancel(p_ids => $1)', [
    idsOf(tasks),
  ]);
  const expected = tasks.map((task) => {
    const changed = cancel(task);
    return { id: task.id, state: task.state, changed };
  });
  expect(answer.sort(byId)).toEqual(expected.sort(byId));
}

export async function doChange(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'change'>,
): Promise<void> {
  const tasks = someTasks(model, step.some);
  // The model leaves payloads in pipelines unchanged: a changed payload holds for one stage only.
  const payload = tasks.some((task) => task.pipeline) ? null : step.payload;
  const changes = {
    ...(payload !== null && { payload }),
    ...(step.priority !== null && { priority: step.priority }),
  };
  const later = step.later ?? undefined;
  if (later === undefined && Object.keys(changes).length === 0) return;
  const at =
    later === undefined ? {} : later ? { delay_seconds: 7200 } : { run_at: '2020-01-01T00:00:00Z' };
  const answer = await sql.rows<Changed>(
    client,
    'select * from tock.change(p_ids => $1, p_changes => $2)',
    [idsOf(tasks), { ...changes, ...at }],
  );
  const expected = tasks.map((task) => {
    const { id, state } = task;
    return {
      id,
      state,
      changed: change(task, { ...changes, ...(later !== undefined && { later }) }),
    };
  });
  expect(answer.sort(byId)).toEqual(expected.sort(byId));
}

/** Adds a rerun to the model: a new task with the last payload and options of an ended one. */
function anew(model: Model, of: Task, id: string): void {
  expect(model.tasks.has(id), `${id} is new`).toBe(false);
  const { queue, payload, priority, maxAttempts, concurrency_key, pipeline } = of;
  const task = { ...fresh(id, queue), payload, priority, maxAttempts, concurrency_key, pipeline };
  task.expires = of.expires && !of.late;
  of.reruns.push(id);
  model.tasks.set(id, task);
  come(model, task);
}

export async function doRerun(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'cancel' | 'rerun'>,
) {
  const tasks = someTasks(model, step.some);
  type Row = { id: string; state: string; rerun_id: string | null; refused: string | null };
  const answer = await sql.rows<Row>(client, 'select * from tock.rerun(p_ids => $1)', [
    idsOf(tasks),
  ]);
  const expected = tasks.map(({ id, state }) => ({ id, state }));
  expect(answer.map(({ id, state }) => ({ id, state })).sort(byId)).toEqual(expected.sort(byId));
  // In the order of the new ids, which is the order in which the reruns were made.
  const made = answer.filter((row) => row.rerun_id);
  for (const row of made.sort((a, b) =>
    Number(BigInt(a.rerun_id ?? 0) - BigInt(b.rerun_id ?? 0)),
  )) {
    const task = model.tasks.get(row.id) as Task;
    expect(isUnended(task)).toBe(false);
    anew(model, task, row.rerun_id as string);
  }
  for (const row of answer) expect(row.refused === 'unfinished').toBe(!row.rerun_id);
}

async function redrive(model: Model, { client }: ModelDatabase, queue: string): Promise<void> {
  const dead = tasksOf(model).filter(
    (task) => task.queue === queue && task.state === 'dead' && task.reruns.length === 0,
  );
  const [answer] = await sql.rows<{ redriven: number; ids: string[] }>(
    client,
    'select redriven, ids from tock.redrive(p_queue => $1)',
    [queue],
  );
  expect(answer?.redriven).toBe(dead.length);
  const of = await sql.rows<{ id: string; rerun_of: string }>(
    client,
    'select t.id, t.rerun_of from unnest($1::bigint[]) i cross join lateral tock.task(p_id => i) t',
    [answer?.ids],
  );
  expect(of.map((row) => row.rerun_of).sort()).toEqual(idsOf(dead).sort());
  for (const row of of) anew(model, model.tasks.get(row.rerun_of) as Task, row.id);
}

export async function doPurge(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'purge'>,
): Promise<void> {
  const queue = model.queues[step.queue] as string;
  const [answer] = await sql.rows<{ ready: number; waiting: number; busy: number; more: boolean }>(
    client,
    'select ready::int, waiting, busy, more from tock.purge_queue(p_queue => $1, p_state => $2)',
    [queue, step.state],
  );
  const here = tasksOf(model).filter((task) => task.queue === queue);
  const gone = here.filter(
    ({ state }) => (state === 'ready' || state === 'waiting') && state === (step.state ?? state),
  );
  const count = (state: string) => gone.filter((task) => task.state === state).length;
  const over = here.filter((task) => task.state === 'expired').length;
  for (const state of ['ready', 'waiting'] as const) {
    expect(answer?.[state]).toBeGreaterThanOrEqual(count(state));
    expect(answer?.[state]).toBeLessThanOrEqual(count(state) + over);
  }
  expect(answer).toMatchObject({ busy: 0, more: false });
  for (const task of gone) cancel(task);
}

export async function doExpire(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'expire'>,
): Promise<void> {
  const tasks = someTasks(model, step.some).filter((task) => task.expires && isUnended(task));
  for (const table of ['runs', 'waiting']) {
    const task = `coalesce(task_id, ${table === 'runs' ? 'position << 20 | stream' : 'position << 20'})`;
    await client.query(
      `update tock.${table} set options = options || jsonb_build_object('expires_at', now() - interval '1 second') where ${task} = any ($1)`,
      [idsOf(tasks)],
    );
  }
  for (const task of tasks) expire(task);
}

export async function doQueue(
  model: Model,
  real: ModelDatabase,
  step: Of<'time' | 'redrive' | 'pause' | 'resume'>,
) {
  const { client } = real;
  const queue = model.queues[step.queue] as string;
  if (step.do === 'redrive') return redrive(model, real, queue);
  if (step.do === 'time') {
    await sql.makeDue(client, queue);
    await stepsFallDue(
      tasksOf(model).filter((task) => task.queue === queue),
      real,
    );
    return timePasses(model, queue);
  }
  await client.query('select tock.put_queue($1, $2)', [queue, { paused: step.do === 'pause' }]);
  if (step.do === 'pause') model.paused.add(queue);
  else model.paused.delete(queue);
}

export async function doLimit(
  model: Model,
  { client }: ModelDatabase,
  step: Of<'limit'>,
): Promise<void> {
  const queue = model.queues[step.queue] as string;
  await client.query('select tock.put_concurrency_key($1, $2, $3)', [
    queue,
    step.concurrency_key,
    { concurrency_limit: step.limit },
  ]);
  model.limits.set(`${queue} ${step.concurrency_key}`, step.limit);
}

/** Leaves four positions of the current segment, so that the next steps cross into another one. */
export async function doSegment({ client }: ModelDatabase): Promise<void> {
  await client.query(
    `select setval('tock.positions', greatest(s.last_value, e.end_position - 4))
     from tock.positions s, tock.segments e where e.number = tock.segment_of(s.last_value)`,
  );
  await client.query('select tock.create_segments(p_ahead => 2, p_width => 3000)');
}

export async function doMaintenanceJobs({ client }: ModelDatabase): Promise<void> {
  for (const maintenance_job of [
    'deactivate_streams',
    'create_segments',
    'verify_segments',
    'drop_expired_segments',
    'prune',
  ]) {
    await client.query('select tock.run_maintenance($1, 0)', [maintenance_job]);
  }
}
