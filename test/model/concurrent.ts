import type pg from 'pg';
import * as sql from '../sql/verbs.ts';
import { sqlOptions } from './enqueues.ts';
import { newModel } from './model.ts';
import { sqlItem } from './saved_steps.ts';
import type { Step } from './steps.ts';

/** The tasks and leases that the concurrent sessions share. */
export type Shared = {
  queues: string[];
  accepted: string[];
  leases: { token: string; ids: string[] }[];
  times: Map<string, number>;
  completed: (id: string) => void;
};

export function numbersOf(queues: string[]): Shared {
  const times = new Map<string, number>();
  const completed = (id: string) => times.set(id, (times.get(id) ?? 0) + 1);
  return { queues, accepted: [], leases: [], times, completed };
}

const nothing = () => {};
const pick = <T>(from: T[], n: number) => from[n % from.length];

function idsFrom({ accepted }: Shared, some: number[]): string[] {
  // Only the newest tasks, so that several sessions act on the same ones.
  const last = accepted.slice(-12);
  return last.length === 0 ? [] : [...new Set(some.map((n) => pick(last, n) as string))];
}

async function enqueue(on: pg.Client, shared: Shared, step: Extract<Step, { do: 'enqueue' }>) {
  const queue = shared.queues[step.queue] as string;
  const known = {
    ...newModel(shared.queues),
    tasks: new Map(shared.accepted.map((id) => [id, null as never])),
  };
  const tasks = step.tasks.map((chosen) => sqlOptions(known, chosen, queue));
  const ids = await sql.enqueue(on, queue, tasks);
  return () => shared.accepted.push(...ids);
}

async function claim(on: pg.Client, shared: Shared, step: Extract<Step, { do: 'claim' }>) {
  const runs = await sql.claim(on, pick(shared.queues, step.queue) as string, {
    limit: step.limit,
  });
  const [first] = runs;
  return first
    ? () => shared.leases.push({ token: first.lease, ids: runs.map(({ id }) => id) })
    : nothing;
}

/** Ends or extends a lease, which other sessions may also use. */
async function endLease(on: pg.Client, shared: Shared, step: Extract<Step, { lease: number }>) {
  const lease = pick(shared.leases, step.lease);
  if (!lease) return nothing;
  const { token, ids } = lease;
  const ended =
    'some' in step && step.some ? [...new Set(step.some.map((n) => pick(ids, n) as string))] : ids;
  switch (step.do) {
    case 'complete': {
      const unique = { by: Math.random() };
      const done = await sql.complete(
        on,
        token,
        ended.map((id, n) => ({
          id,
          result: unique,
          ...(n === 0 &&
            step.spawn !== null && {
              spawn: { queue: shared.queues[0], tasks: [{ payload: step.spawn }] },
            }),
        })),
      );
      const mine = done ? ended.filter((id) => !done.refused.includes(id)) : [];
      return () => mine.forEach(shared.completed);
    }
    case 'release':
      await sql.release(on, token, ended);
      return nothing;
    case 'fail':
      await sql.fail(
        on,
        token,
        ended.map((id) => ({
          id,
          ...(step.retry === 'fatal' ? { fatal: true } : { retry_in_seconds: 0 }),
        })),
      );
      return nothing;
    case 'save': {
      const id = pick(ids, step.task) as string;
      const items = step.items.map((item) => sqlItem(shared.queues, id, item));
      await on.query('select tock.save_steps($1, $2)', [token, JSON.stringify(items)]);
      return nothing;
    }
    case 'lose':
      await sql.expire(on, token);
      await sql.reap(on);
      return nothing;
    default:
      await sql.extend(on, token);
      return nothing;
  }
}

/** Makes a step. The caller calls the returned function when the step is committed. */
export async function takeStep(on: pg.Client, shared: Shared, step: Step): Promise<() => void> {
  if (step.do === 'enqueue') return enqueue(on, shared, step);
  if (step.do === 'claim') return claim(on, shared, step);
  if ('lease' in step) return endLease(on, shared, step);
  const ids = 'some' in step ? idsFrom(shared, step.some) : [];
  const queue = 'queue' in step ? (shared.queues[step.queue] as string) : '';
  if ('some' in step && ids.length === 0) return nothing;
  switch (step.do) {
    case 'cancel':
      await on.query('select tock.cancel($1)', [ids]);
      return nothing;
    case 'rerun': {
      const made = await sql.rows<{ rerun_id: string | null }>(
        on,
        'select rerun_id from tock.rerun($1)',
        [ids],
      );
      const fresh = made.flatMap(({ rerun_id }) => rerun_id ?? []);
      return () => shared.accepted.push(...fresh);
    }
    case 'change': {
      const changes = {
        ...(step.priority !== null && { priority: step.priority }),
        ...(step.later === true && { delay_seconds: 3600 }),
        ...(step.later === false && { run_at: '2020-01-01T00:00:00Z' }),
      };
      await on.query('select tock.change($1, $2)', [
        ids,
        { payload: step.payload ?? 0, ...changes },
      ]);
      return nothing;
    }
    case 'redrive': {
      const made = await sql.value<string[]>(on, 'select ids from tock.redrive(p_queue => $1)', [
        queue,
      ]);
      return () => shared.accepted.push(...made);
    }
    case 'time':
      await sql.makeDue(on, queue);
      await sql.promote(on);
      return nothing;
    case 'purge':
      await on.query('select tock.purge_queue($1, $2)', [queue, step.state]);
      return nothing;
    case 'signal':
      await on.query('select tock.signal($1, $2)', [
        `${shared.queues[0]}/${step.event}`,
        JSON.stringify(step.payload),
      ]);
      return nothing;
    case 'limit':
      await on.query('select tock.put_concurrency_key($1, $2, $3)', [
        queue,
        step.concurrency_key,
        { concurrency_limit: step.limit },
      ]);
      return nothing;
    case 'maintenance_jobs':
      for (const maintenance_job of [
        'promote',
        'deactivate_streams',
        'create_segments',
        'verify_segments',
      ])
        await on.query('select tock.run_maintenance($1, 0)', [maintenance_job]);
      return nothing;
    default:
      return nothing;
  }
}
