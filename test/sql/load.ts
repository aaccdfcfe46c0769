import type pg from 'pg';
import type { Database } from '../database.ts';
import { sleep } from '../sleep.ts';
import { createSegments } from './kernel/segment/segments.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  leaseOf,
  makeDue,
  numberedTasks,
  promote,
  type Run,
  reap,
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

const quickRetries = {
  max_lost: 1000,
  backoff_base_seconds: 0.05,
  backoff_cap_seconds: 0.3,
  lanes: 3,
};

/** A load of a queue, in segments so small that the positions cross into the next one about every second. */
export async function newLoad(
  client: pg.Client,
  db: Database,
  queue: string,
  maxAttempts: number,
  completed: (id: string) => void = () => {},
): Promise<Load & { seed: number }> {
  await client.query('select tock.put_queue($1, $2)', [
    queue,
    { ...quickRetries, max_attempts: maxAttempts },
  ]);
  await enqueue(client, 'other', [{}]);
  await client.query(
    "select setval('tock.positions', (select max(end_position) - 2000 from tock.segments))",
  );
  await createSegments(client, 'p_ahead => 3, p_width => 5000');
  const seed = Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000);
  return {
    seed,
    queue,
    random: seededRandom(seed),
    going: true,
    accepted: new Set(),
    refused: new Map(),
    complete: completed,
    connect: () => db.connect(),
  };
}

/** Ends all open leases and promotes all waiting tasks, until every task of the load has ended. */
export async function finishLoad(client: pg.Client, load: Load): Promise<void> {
  await client.query('select tock.put_queue($1, $2)', [load.queue, { concurrency_limit: 1000 }]);
  for (let round = 0; round < 200; round++) {
    await client.query(
      "update tock.leases set leased_until = now() - interval '1 s' where closed_at is null",
    );
    while ((await reap(client)) > 0);
    await makeDue(client, load.queue);
    while ((await promote(client)) > 0);
    const runs = await claim(client, load.queue, { limit: 1000 });
    if (runs.length === 0) return;
    await complete(client, leaseOf(runs));
    for (const run of runs) load.complete(run.id);
  }
  throw new Error('Tasks were left after 200 rounds.');
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

function accept(load: Load, ids: string[]): void {
  for (const id of ids) load.accepted.add(id);
}

const plain: Step = async (on, load) =>
  accept(load, await enqueue(on, load.queue, tasks(load, 1 + load.random(6))));

const delayed: Step = async (on, load) => {
  const later = tasks(load, 2, { delay_seconds: load.random(5) / 10 });
  accept(load, await enqueue(on, load.queue, later));
};

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
  accept(load, kept);
}

async function oldWriter(on: pg.Client, load: Load): Promise<void> {
  await on.query('begin isolation level repeatable read');
  await on.query('select count(*) from tock.streams');
  await moment(load, 150);
  // enqueue() refuses unique keys under repeatable read.
  const ids = await enqueue(on, load.queue, tasks(load, 5, {}, false));
  await moment(load, 150);
  await on.query('commit');
  accept(load, ids);
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
  const results = ids.slice(0, 3).map((id) => ({ id, result: 1 }));
  const done = await complete(on, lease, results);
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

/** Takes random steps. A step that is listed twice is taken twice as often. */
async function going(load: Load, steps: Step[]): Promise<void> {
  const on = await load.connect();
  while (load.going) {
    try {
      await (steps[load.random(steps.length)] as Step)(on, load);
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
  const twice = [plain, plain, savepoints, oldWriter];
  return many(count, () => going(load, [...twice, ...twice, delayed, rolledBack]));
}

export function startClaimers(load: Load, count: number): Promise<void>[] {
  const twice = [worked, worked, worked, torn];
  return many(count, () => going(load, [...twice, ...twice, inOneTransaction]));
}

export function startMaintenance(load: Load): Promise<void>[] {
  const job = (statement: string, below: number): Step => {
    return async (on) => {
      await on.query(statement);
      await moment(load, below);
    };
  };
  const promotion = job('select tock.promote(p_limit => 20)', 50);
  const reaping = job('select tock.reap(p_limit => 50, p_sweep => true)', 50);
  const sweep = job('select tock.promote(p_limit => 20, p_sweep => true)', 50);
  const rest = job('select tock.deactivate_streams()', 60);
  const segments = job('select tock.create_segments(p_ahead => 3, p_width => 5000)', 60);
  return [
    going(load, [reaping, reaping, promotion, promotion, sweep]),
    going(load, [job('select tock.reap(p_sweep => true)', 80)]),
    going(load, [rest, rest, rest, segments]),
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
