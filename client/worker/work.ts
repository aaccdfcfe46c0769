import type { Claims, Weighted } from '../claims.ts';
import { TockError } from '../errors.ts';
import type { Leases } from '../lease.ts';
import { pause } from '../pause.ts';
import type { ClaimAnswer, ClaimOptions, Ended } from '../types.ts';
import { createExecutor, type ErrorListener, type Executor, type WorkCounts } from './executor.ts';
import { type Handler, type Middleware, withMiddleware } from './handlers.ts';
import type { EndWithClaim } from './leased_tasks.ts';
import type { RunTask } from './run.ts';
import type { Steps } from './step_types.ts';
import { createStopSignal, type StopSignal } from './stop.ts';

export type { WorkCounts } from './executor.ts';

export type WorkOptions = {
  /** The worker's name, which task listings show. */
  worker?: string;
  /** Maximum number of handlers that run at once. */
  concurrency?: number;
  /** If it has leased `low` tasks or fewer, it claims up to `high`. Default: one task for each free handler. */
  prefetch?: { low: number; high: number };
  /** empty: stops when a claim finds no task. Default: runs until the signal or the deadline. */
  until?: 'empty' | Date;
  /** The same as `until` with a time this many seconds from now. */
  for_seconds?: number;
  /** Stops the worker when aborted: see stop_seconds. */
  signal?: AbortSignal;
  /** After a stop, handlers have this time to end. Then their signals abort; tasks are released a second later. */
  stop_seconds?: number;
  lease_seconds?: number;
  /** How long a claim waits for tasks, 0 to 30. A stopping worker waits for its claim to end. */
  wait_seconds?: number;
  /** Weights of queues by name. Each claim puts the queues in a random order by these weights. */
  weights?: Record<string, number>;
  /** Maximum delay of reporting an outcome together with others, while more tasks are leased. */
  report_within_ms?: number;
  /** The version of the handlers, a whole number from 1, which steps keep: see `version` of a handler's context. */
  version?: number;
  /** The versions whose tasks this worker continues; those of others sleep, up to 10 minutes a time. Default: all. */
  versions?: number[];
  /** Wraps each attempt, for example in a trace span. */
  middleware?: Middleware;
  /** Receives errors of handlers with their task, and errors of calls without one. */
  on_error?: ErrorListener;
};

/** Tells a worker with `until: 'empty'` that there are more tasks to claim. */
export type Wakeups = { count(): number; next(): Promise<void> };

/** A source that runs handlers in transactions provides `run`, and completes the tasks itself. */
export type Source = Claims & Leases & { run?: RunTask };

/** How a worker claims, and when it has enough tasks. */
type ClaimLoop = {
  source: Claims;
  queues: Weighted[];
  executor: Executor;
  stopping: StopSignal;
  onError: ErrorListener;
  high: number;
  untilEmpty: boolean;
  lease_seconds: number;
  wait_seconds: number;
  worker: string | undefined;
  wakeups: Wakeups | undefined;
};

const MAX_CLAIM = 10_000;
/** A longer Retry-After than this is not obeyed. */
const MAX_RETRY_SECONDS = 300;

/** Ignores errors of the listener, whether it throws or rejects, because they must not stop the worker. */
function safeListener(onError: ErrorListener = () => {}): ErrorListener {
  return async (error, task) => {
    try {
      await onError(error, task);
    } catch {}
  };
}

function check(handlers: Map<string, unknown>, concurrency: number, low: number, high: number) {
  for (const [queue, handler] of handlers) {
    // Without this check each task would use up all its attempts.
    if (typeof handler !== 'function')
      throw new TypeError(`work: ${queue} needs a function as its handler`);
  }
  if (!(concurrency >= 1 && low >= 0 && high > low)) {
    throw new RangeError(
      'work: concurrency must be 1 or more, and prefetch must have 0 <= low < high',
    );
  }
}

/** Lets each lease count what a claim has ended. If that is unknown, or none was, each lease reports by itself. */
function settleAll(ends: EndWithClaim[], ended: Ended[] = []): void {
  for (const [n, { settle }] of ends.entries()) settle(ended[n]);
}

type ClaimResult = { answer: ClaimAnswer; late: boolean };

/**
 * Claims in the call that ends leases. It is tried once and does not wait for tasks, because the outcomes must not wait:
 * a server that refuses claims still has room for the calls that end work. Null if it failed.
 */
async function claimWithEnds(
  { source, queues, executor }: ClaimLoop,
  ends: EndWithClaim[],
  options: ClaimOptions & { lease_seconds: number },
): Promise<ClaimResult | null> {
  const sent = performance.now();
  try {
    const withEnds = { ...options, ends: ends.map(({ end }) => end) };
    const claiming = source.claim(queues, withEnds, AbortSignal.abort()).then((answer) => {
      settleAll(ends, answer.ended);
      return answer;
    });
    const answer = await executor.duringClaim(claiming);
    return { answer, late: performance.now() - sent > (options.lease_seconds / 3) * 1000 };
  } catch {
    settleAll(ends);
    return null;
  }
}

/** Claims once; null if the worker must retry. `late`: after so long a call, the start of the lease is unknown. */
async function claim(loop: ClaimLoop, ends: EndWithClaim[]): Promise<ClaimResult | null> {
  const { worker, lease_seconds, stopping } = loop;
  const ending = ends.reduce((sum, { count }) => sum + count, 0);
  const limit = Math.min(MAX_CLAIM, loop.high - loop.executor.count() + ending);
  const options: ClaimOptions & { lease_seconds: number } = { worker, limit, lease_seconds };
  const sent = performance.now();
  if (ends.length > 0) {
    // If the answer of the call with ends is lost, the call after it gets the same tasks, leased since the first call.
    options.request_id = crypto.randomUUID();
    const claimed = await claimWithEnds(loop, ends, options);
    if (claimed || stopping.aborted) return claimed;
  }
  const wait_seconds = Math.min(loop.wait_seconds, Math.ceil(stopping.left()));
  try {
    const claiming = loop.source.claim(loop.queues, { ...options, wait_seconds }, stopping);
    const answer = await (wait_seconds > 0 ? claiming : loop.executor.duringClaim(claiming));
    const waited_seconds = ends.length > 0 ? 0 : wait_seconds;
    return { answer, late: performance.now() - sent > (waited_seconds + lease_seconds / 3) * 1000 };
  } catch (error) {
    // The lease of the call with ends has ended meanwhile.
    if (ends.length > 0 && error instanceof TockError && error.status === 409) return null;
    const isRetryable = error instanceof TockError && (error.status === 0 || error.status >= 429);
    if (loop.untilEmpty || !isRetryable) throw error;
    loop.onError(error);
    const { retry_after_seconds } = error;
    await pause(1000 * Math.min(MAX_RETRY_SECONDS, Math.max(1, retry_after_seconds)), stopping);
    return null;
  }
}

/** After a claim that found its streams locked; the time doubles with each such claim in a row. */
const BUSY_MS = 10;

/** The pause after a claim without tasks. It is short after a claim that waited. */
function pauseMs(
  { wait_seconds }: ClaimLoop,
  { state, retry_after_seconds }: ClaimAnswer,
  busy: number,
): number {
  if (state === 'passing') return 0;
  if (wait_seconds > 0) return 50;
  const ms = 1000 * retry_after_seconds;
  return state === 'busy' ? Math.min(1000, ms, BUSY_MS * 2 ** busy) : ms;
}

const stopped = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve());
  });

/** Claims while there is room, until the worker stops or, with `until: 'empty'`, no task is left. */
async function claimLoop(loop: ClaimLoop): Promise<void> {
  const { executor, stopping } = loop;
  let busy = 0;
  while (!stopping.aborted) {
    const ends = await executor.room();
    if (stopping.aborted) return settleAll(ends);
    const wasIdle = executor.count() === 0;
    const wakeupsBefore = loop.wakeups?.count();
    const claimed = await claim(loop, ends);
    if (!claimed) continue;
    const { leases, state } = claimed.answer;
    busy = state === 'busy' ? busy + 1 : 0;
    for (const leased of leases) executor.add(leased, claimed.late);
    // A claim that ends leases waits for nothing, neither tasks nor locks: the next one does.
    if (leases.length > 0 || ends.length > 0 || executor.hasOutcomes()) continue;
    if (loop.untilEmpty && (state === 'empty' || state === 'paused')) {
      const wasWoken = () => loop.wakeups?.count() !== wakeupsBefore;
      if (wasIdle && !wasWoken()) return;
      // The running tasks may still add tasks, so the worker does not stop yet.
      while (executor.count() > 0 && !wasWoken() && !stopping.aborted) {
        await Promise.race([executor.next(), ...(loop.wakeups ? [loop.wakeups.next()] : [])]);
      }
    } else await pause(pauseMs(loop, claimed.answer, busy), stopping);
  }
}

type AnyHandler = Handler<unknown, never>;

const wrapAll = (handlers: Map<string, AnyHandler>, wrap: (handler: AnyHandler) => AnyHandler) =>
  new Map([...handlers].map(([queue, handler]) => [queue, wrap(handler)]));

/** Lets tasks of other versions sleep. Sleeps of earlier runs are over, and have the first names. */
const ofVersions =
  (handler: AnyHandler, versions: number[]): Handler<unknown, Steps> =>
  async (task, context) => {
    const began = await context.version();
    for (let seconds = 10; !versions.includes(began); seconds = Math.min(600, seconds * 2))
      await context.sleep(`for version ${began}`, seconds);
    return handler(task, context as never);
  };

/** Works until it is stopped. Rejects when a claim is refused, after started tasks have ended. */
export async function work(
  source: Source,
  handlers: Map<string, AnyHandler>,
  options: WorkOptions & { wakeups?: Wakeups } = {},
): Promise<WorkCounts> {
  const {
    concurrency = 1,
    lease_seconds = 60,
    stop_seconds = 20,
    report_within_ms = 200,
    version = 1,
    versions,
  } = options;
  const { low, high } = options.prefetch ?? { low: concurrency - 1, high: concurrency };
  check(handlers, concurrency, low, high);
  if (versions?.includes(version) === false)
    throw new RangeError(`versions must include the worker's own version, ${version}`);
  const untilEmpty = options.until === 'empty';
  const { wait_seconds = untilEmpty ? 0 : 5, weights, worker, wakeups, middleware } = options;
  const onError = safeListener(options.on_error);
  const stopping = createStopSignal(options);
  const queues = [...handlers.keys()].map((queue) =>
    weights ? { queue, weight: weights[queue] ?? 1 } : queue,
  );
  const common = { source, lease_seconds, stopping, onError };
  const known = versions ? wrapAll(handlers, (handler) => ofVersions(handler, versions)) : handlers;
  const wrapped = middleware
    ? wrapAll(known, (handler) => withMiddleware(handler, middleware))
    : known;
  const executor = createExecutor({
    ...common,
    handlers: wrapped,
    concurrency,
    low,
    claimsCanEnd: queues.length === 1 && !weights,
    report_within_ms,
    version,
  });
  const finished = stopped(stopping).then(() => executor.finish(stop_seconds));
  if (stopping.aborted) return executor.counts;
  try {
    await claimLoop({
      ...common,
      queues,
      executor,
      high,
      untilEmpty,
      wait_seconds,
      worker,
      wakeups,
    });
  } finally {
    stopping.stop();
    await finished;
    // A claim that was sent before the stop may still bring tasks.
    await executor.whenEmpty();
  }
  return executor.counts;
}
