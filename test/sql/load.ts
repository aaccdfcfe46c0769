import type pg from 'pg';
import { sleep } from '../sleep.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  numberedTasks,
  type Run,
  release,
} from './verbs.ts';

export type Load = {
  queue: string;
  /** Returns a whole number from 0 up to `below` - 1. */
  random: (below: number) => number;
  going: boolean;
  /** The ids whose enqueue was committed. */
  accepted: Set<string>;
  /** How often each SQLSTATE occurred. */
  refused: Map<string, number>;
  /** Called with each id whose completion was committed. */
  complete: (id: string) => void;
  connect: () => Promise<pg.Client>;
};

export function seededRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * below);
  };
}

type Step = (on: pg.Client, load: Load) => Promise<void>;

const moment = (load: Load, below: number) => sleep(load.random(below));

/**
 * Options for one task in three: a concurrency key among five, a unique key among 40, limits that no test reaches.
 */
function randomOptions(load: Load, keys: boolean): object {
  if (load.random(3) > 0) return {};
  const concurrency_key = { concurrency_key: `g${load.random(5)}` };
  const key = keys ? { unique_key: `k${load.random(40)}` } : {};
  const limits = { expires_in_seconds: 3600, timeout_seconds: 1000 + load.random(2) };
  return [concurrency_key, key, limits, { ...concurrency_key, ...key }][load.random(4)] as object;
}

const tasks = (load: Load, count: number, options = {}, keys = true) =>
  numberedTasks(count, 0, {
    tenant: `t${load.random(4)}`,
    priority: 4 + load.random(2),
    ...options,
  }).map((task) => ({ ...task, ...randomOptions(load, keys) }));

async function plain(on: pg.Client, load: Load): Promise<void> {
  const ids = await enqueue(on, load.queue, tasks(load, 1 + load.random(6)));
  for (const id of ids) load.accepted.add(id);
}

async function delayed(on: pg.Client, load: Load): Promise<void> {
  const ids = await enqueue(on, load.queue, tasks(load, 2, { delay_seconds: load.random(5) / 10 }));
  for (const id of ids) load.accepted.add(id);
}

async function rolledBack(on: pg.Client, load: Load): Promise<void> {
  await on.query('begin');
  await enqueue(on, load.queue, tasks(load, 2));
  await moment(load, 200);
  await on.query('rollback');
}

async function savepoints(on: pg.Client, load: Load): Promise<void> {
  await on.query('begin; savepoint a');
  await enqueue(on, load.queue, tasks(load, 2));
  await on.query('rollback to a');
  const kept = await enqueue(on, load.queue, tasks(load, 1));
  await on.query('savepoint b');
  await enqueue(on, load.queue, tasks(load, 4));
  await moment(load, 300);
  await on.query('rollback to b');
  kept.push(...(await enqueue(on, load.queue, tasks(load, 2))));
  await on.query('commit');
  for (const id of kept) load.accepted.add(id);
}

async function oldWriter(on: pg.Client, load: Load): Promise<void> {
  await on.query('begin isolation level repeatable read');
  await on.query('select count(*) from tock.streams');
  await moment(load, 150);
  // enqueue() refuses unique keys under repeatable read.
  const ids = await enqueue(on, load.queue, tasks(load, 5, {}, false));
  await moment(load, 150);
  await on.query('commit');
  for (const id of ids) load.accepted.add(id);
}

const completing = async (on: pg.Client, load: Load, runs: Run[]) => {
  if (await complete(on, leaseOf(runs))) for (const run of runs) load.complete(run.id);
};

async function worked(on: pg.Client, load: Load): Promise<void> {
  const runs = await claim(on, load.queue, { limit: 1 + load.random(20) });
  if (runs.length > 0) await completing(on, load, runs);
  else await moment(load, 20);
}

/** Completes, fails and releases a part of a lease each, and loses the rest. */
async function torn(on: pg.Client, load: Load): Promise<void> {
  const runs = await claim(on, load.queue, { limit: 12 });
  if (runs.length === 0) return;
  const lease = leaseOf(runs);
  if (load.random(3) === 0) await expire(on, lease);
  const ids = runs.map((run) => run.id);
  const done = await complete(
    on,
    lease,
    ids.slice(0, 3).map((id) => ({ id, result: 1 })),
  );
  const refused = new Set(done ? done.refused : ids);
  for (const id of ids.slice(0, 3)) if (!refused.has(id)) load.complete(id);
  const failures = ids.slice(3, 7).map((id, n) => ({ id, ...(n % 2 && { retry_in_seconds: 0 }) }));
  if (failures.length > 0) await fail(on, lease, failures);
  if (ids.length > 7) await release(on, lease, ids.slice(7, 9));
  await expire(on, lease);
}

async function inOneTransaction(on: pg.Client, load: Load): Promise<void> {
  await on.query('begin');
  const runs = await claim(on, load.queue, { limit: 5 });
  await moment(load, 60);
  const done = runs.length > 0 && (await complete(on, leaseOf(runs)));
  const end = load.random(2) ? 'commit' : 'rollback';
  await on.query(end);
  if (done && end === 'commit') for (const run of runs) load.complete(run.id);
}

async function going(load: Load, steps: [share: number, step: Step][]): Promise<void> {
  const on = await load.connect();
  const all = steps.flatMap(([share, step]) => Array<Step>(share).fill(step));
  while (load.going) {
    try {
      await (all[load.random(all.length)] as Step)(on, load);
    } catch (error) {
      const code = (error as { code?: string }).code ?? String(error);
      load.refused.set(code, (load.refused.get(code) ?? 0) + 1);
      await on.query('rollback');
    }
  }
}

/** Runs the parts of a load until `enough` is true or one of them fails. */
export async function retryTransient(
  load: { going: boolean },
  parts: Promise<void>[],
  enough: () => boolean | Promise<boolean>,
): Promise<void> {
  const all = Promise.all(parts);
  let ended = false;
  const end = () => {
    ended = true;
  };
  all.then(end, end);
  try {
    while (!ended && !(await enough())) await sleep(50);
  } finally {
    load.going = false;
  }
  await all;
}

const many = (count: number, start: () => Promise<void>) => Array.from({ length: count }, start);

export function startWriters(load: Load, count: number): Promise<void>[] {
  const steps: [number, Step][] = [
    [4, plain],
    [1, delayed],
    [1, rolledBack],
    [2, savepoints],
    [2, oldWriter],
  ];
  return many(count, () => going(load, steps));
}

export function startClaimers(load: Load, count: number): Promise<void>[] {
  const steps: [number, Step][] = [
    [6, worked],
    [2, torn],
    [1, inOneTransaction],
  ];
  return many(count, () => going(load, steps));
}

export function startMaintenance(load: Load): Promise<void>[] {
  const maintenance_job =
    (statement: string, below: number): Step =>
    async (on) => {
      await on.query(statement);
      await moment(load, below);
    };
  return [
    going(load, [
      [2, maintenance_job('select tock.reap(p_limit => 50, p_sweep => true)', 50)],
      [2, maintenance_job('select tock.promote(p_limit => 20)', 50)],
      [1, maintenance_job('select tock.promote(p_limit => 20, p_sweep => true)', 50)],
    ]),
    going(load, [[1, maintenance_job('select tock.reap(p_sweep => true)', 80)]]),
    going(load, [
      [3, maintenance_job('select tock.deactivate_streams()', 60)],
      [1, maintenance_job('select tock.create_segments(p_ahead => 3, p_width => 5000)', 60)],
    ]),
  ];
}

/**
 * Repeats a change while it is refused, as its hint says. On a busy machine, claims may keep it from the streams of its
 * tasks for two seconds; then it has changed nothing.
 */
export async function retryRefused<A>(change: () => Promise<A>, refused = () => {}): Promise<A> {
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if ((error as { code?: string }).code !== 'TK503') throw error;
      refused();
    }
  }
}
