import { pause } from '../../client/pause.ts';
import { sqlSource } from '../../client/sql/source.ts';
import type { ClaimAnswer, Claimed } from '../../client/types.ts';
import { createNotifier, type Notifier } from '../../client/worker/notifier.ts';
import { type Source, type Wakeups, type WorkCounts, work } from '../../client/worker/work.ts';
import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { type Budget, budget } from './budget.ts';
import type { Consumer, Consumers } from './define.ts';
import { createRunner } from './run.ts';
import {
  type OpenConnection,
  type SerialConnection,
  serialConnection,
} from './serial_connection.ts';
import { onEachNode } from './turns.ts';

export type { Consumers } from './define.ts';

export type DrainOptions = {
  /** Time limit, which includes closing the connection. */
  seconds?: number;
  /** If the drain stops a handler that has run this many seconds, the attempt fails; otherwise its task is released. */
  enough_seconds?: number;
  /** The worker's name, which task listings show. */
  worker?: string;
  /** An open connection; the drain closes it. */
  open?: OpenConnection | undefined;
  /** Announces tasks that were added during the drain. */
  wakeups?: Wakeups;
  /** What has been claimed for the only consumer already. */
  claimed?: ClaimAnswer | undefined;
  on_error?: (error: unknown, task?: Claimed) => void;
};

/** Outcomes of the tasks, and when to drain again: null when no claimable task was left. */
export type DrainResult = WorkCounts & { again_seconds: number | null };

/** Time reserved for closing the connection. */
const CLOSE_SECONDS = 0.5;
/** Time reserved for the last reports. */
const REPORT_SECONDS = 0.5;
/** work() releases running tasks one second after it has aborted their signals. */
const GRACE_SECONDS = 1;
/** A claim waits for a limit that admits a task within this many seconds. */
const MAX_LIMIT_WAIT_SECONDS = 2;

const SECONDS = 25;
/** A handler that fills most of a drain fails: if it were released, each drain would start it again for ever. */
export const enoughSeconds = (seconds: number) => seconds * 0.6;

const emptyResult = (): DrainResult => ({
  done: 0,
  failed: 0,
  released: 0,
  cancelled: 0,
  lost: 0,
  again_seconds: null,
});

/** Number of tasks with an outcome. */
export const total = ({ done, failed: reasons, released, lost }: WorkCounts) =>
  done + reasons + released + lost;

const sooner = (a: number | null, b: number) => (a === null ? b : Math.min(a, b));

export function logError(error: unknown, task?: Claimed): void {
  const { name = '', message = String(error) } = error as Error;
  console.error(`${task ? `task ${task.id} of ${task.queue}: ` : ''}${name} ${message}`);
}

type DrainState = {
  budget: Budget;
  env: Bindings;
  result: DrainResult;
  /** Seconds until signals abort. */
  left(): number;
  stop: AbortSignal;
  /** Stops because no statements are left. */
  stopOutOfStatements(): void;
  /** Number of consumers with work; `idleNotifier` notifies when one of them has no more. */
  working: number;
  idleNotifier: Notifier;
  /** What has been claimed already, until it is taken. */
  claimed: ClaimAnswer | undefined;
  options: DrainOptions;
};

/** The source of a consumer's tasks: it claims at most a batch, and does not wait long for a limit of the queue. */
function createSource(drain: DrainState, { batch }: Consumer): Source {
  const { query, isShort, of, run, claimed } = drain.budget;
  const { enough_seconds = enoughSeconds(SECONDS) } = drain.options;
  const source = of(
    sqlSource(
      { query: async (text, values) => ({ rows: await query(text, values) }) },
      drain.env.TOCK_URL,
    ),
  );
  return {
    ...source,
    run: run(createRunner(query, drain.env as never, drain.left, enough_seconds)),
    async claim(queues, options, signal): Promise<ClaimAnswer> {
      if (isShort()) {
        drain.stopOutOfStatements();
        return { leases: [], state: 'empty', retry_after_seconds: 0 };
      }
      const limit = Math.min(batch, options?.limit ?? 1);
      // The first claim of a drain ends no leases, so it need not be made.
      const before = drain.claimed;
      drain.claimed = undefined;
      const answer = before ?? (await source.claim(queues, { ...options, limit }, signal));
      claimed(answer);
      const { state, retry_after_seconds } = answer;
      if (state !== 'limited' || retry_after_seconds <= MAX_LIMIT_WAIT_SECONDS) return answer;
      drain.result.again_seconds = sooner(drain.result.again_seconds, retry_after_seconds);
      return { ...answer, state: 'empty' };
    },
  };
}

/** Works on the queue of a consumer; true if it is empty. */
async function consume(drain: DrainState, consumer: Consumer): Promise<boolean> {
  const { queue, handler, batch, concurrency, lease_seconds, version = 1, versions } = consumer;
  const { seconds = SECONDS, worker = 'worker', wakeups, on_error = logError } = drain.options;
  const stop_seconds = Math.min(5, seconds / 4);
  const for_seconds = Math.max(0, drain.left() - stop_seconds);
  const counts = await work(createSource(drain, consumer), new Map([[queue, handler as never]]), {
    worker,
    concurrency,
    prefetch: { low: concurrency - 1, high: Math.max(batch, concurrency) },
    until: 'empty',
    for_seconds,
    stop_seconds,
    signal: drain.stop,
    lease_seconds,
    version,
    on_error,
    ...(versions && { versions }),
    ...(wakeups && { wakeups }),
  });
  for (const kind of Object.keys(counts) as (keyof WorkCounts)[])
    drain.result[kind] += counts[kind];
  const isLate = drain.left() <= stop_seconds;
  if (isLate) drain.result.again_seconds = 0;
  return !isLate && !drain.stop.aborted;
}

async function consumeInTurn(drain: DrainState, consumer: Consumer): Promise<void> {
  const { turn } = consumer;
  let isEmpty = false;
  try {
    if (!turn || (await turn.begin())) isEmpty = await consume(drain, consumer);
  } finally {
    turn?.end(isEmpty);
  }
}

/** Keeps a consumer with an empty queue active while another one works, because handlers may add tasks. */
async function consumeWhileOthersWork(drain: DrainState, consumer: Consumer): Promise<void> {
  const { wakeups } = drain.options;
  while (true) {
    const wakeupsBefore = wakeups?.count();
    const wasWoken = () => wakeups?.count() !== wakeupsBefore;
    await consumeInTurn(drain, consumer).finally(() => {
      drain.working--;
      drain.idleNotifier.notify();
    });
    while (wakeups && drain.working > 0 && !wasWoken() && drain.left() > 0) {
      await Promise.race([wakeups.next(), drain.idleNotifier.next()]);
    }
    if (!wasWoken() || drain.working === 0 || drain.left() === 0) return;
    drain.working++;
  }
}

function throwErrors(settled: readonly PromiseSettledResult<unknown>[]): void {
  const reasons = settled.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  if (reasons.length > 1) throw new AggregateError(reasons, String(reasons[0]?.message));
  if (reasons.length > 0) throw reasons[0];
}

/** Like drain(), over a connection that stays open: `seconds` does not include closing it. */
export async function drainOver(
  connection: SerialConnection,
  env: Bindings,
  consumers: Consumers,
  options: DrainOptions = {},
): Promise<DrainResult> {
  const end = performance.now() + (options.seconds ?? SECONDS) * 1000;
  const secondsTo = (at: number) => Math.max(0, (at - performance.now()) / 1000);
  const left = () => secondsTo(end - (REPORT_SECONDS + GRACE_SECONDS) * 1000);
  const result = emptyResult();
  const stop = new AbortController();
  const stopOutOfStatements = () => {
    result.again_seconds = 0;
    stop.abort();
  };
  const drain: DrainState = {
    budget: budget(connection, stopOutOfStatements, left),
    env,
    result,
    left,
    stop: stop.signal,
    stopOutOfStatements,
    working: 0,
    idleNotifier: createNotifier(),
    claimed: options.claimed,
    options,
  };
  async function drainAll(): Promise<void> {
    // Handlers may have added tasks to a queue that was empty. And a lookup returns only some of the queues with push.
    for (let doneBefore = -1; total(result) > doneBefore && left() > 0; ) {
      doneBefore = total(result);
      const list =
        typeof consumers === 'function' ? await consumers(connection.query, env) : consumers;
      drain.working = list.length;
      const works = list.map((consumer) => consumeWhileOthersWork(drain, consumer));
      throwErrors(await Promise.allSettled(works));
      if (list === consumers && list.length === 1) return;
    }
  }
  const timer = new AbortController();
  const late = pause(secondsTo(end) * 1000, timer.signal).then(() => 'late');
  try {
    const draining = drainAll();
    draining.catch(() => {});
    if (await Promise.race([draining, late])) result.again_seconds = 0;
    return result;
  } finally {
    timer.abort();
  }
}

/** Drains each node; throws an error of a node after the others have ended. */
async function drainNodes(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  options: DrainOptions,
): Promise<DrainResult> {
  const all = emptyResult();
  const drains = await onEachNode(env, consumers, (node, own) =>
    drainNode(connect, node, own, options),
  );
  throwErrors(drains);
  for (const drain of drains) {
    if (drain.status === 'rejected') continue;
    const { again_seconds, ...counts } = drain.value;
    if (again_seconds !== null) all.again_seconds = sooner(all.again_seconds, again_seconds);
    for (const kind of Object.keys(counts) as (keyof WorkCounts)[]) all[kind] += counts[kind];
  }
  return all;
}

/**
 * Works on the consumers' queues until they are empty or the time is nearly up. Before that it stops claiming, releases
 * tasks that have not started, aborts the signals of running handlers and releases their tasks. It does not wait for a
 * handler that ignores its signal. If a claim fails, drain() rejects after the other consumers have ended.
 */
export function drain(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  options: DrainOptions = {},
): Promise<DrainResult> {
  return (env.TOCK_NODES ? drainNodes : drainNode)(connect, env, consumers, options);
}

async function drainNode(
  connect: Connect,
  env: Bindings,
  consumers: Consumers,
  options: DrainOptions,
): Promise<DrainResult> {
  const { seconds = SECONDS } = options;
  const connection = serialConnection(connect, env, options.open);
  try {
    return await drainOver(connection, env, consumers, {
      ...options,
      seconds: seconds - CLOSE_SECONDS,
    });
  } finally {
    await Promise.race([connection.close(), pause(CLOSE_SECONDS * 1000)]);
  }
}
