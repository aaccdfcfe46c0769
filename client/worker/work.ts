import type { Claims, Weighted } from '../claims.ts';
import { TockError } from '../errors.ts';
import type { Leases } from '../lease.ts';
import { pause } from '../pause.ts';
import type { ClaimAnswer } from '../types.ts';
import { type Around, type Handler, surrounded } from './handlers.ts';
import { type Hands, type Hear, hands, type Worked } from './hands.ts';
import type { RunTask } from './run.ts';
import { type Stopping, stopAt } from './stop.ts';

export type { Worked } from './hands.ts';

export type WorkOptions = {
  /** Its name, as tasks show it. */
  worker?: string;
  /** How many handlers run at once. */
  concurrency?: number;
  /** With `low` tasks or fewer in hand it claims as many as make `high`; unsaid, one for each handler that is free. */
  prefetch?: { low: number; high: number };
  /** empty: until a claim finds nothing. Without it, until the signal or the time. */
  until?: 'empty' | Date;
  /** The same as `until` a time so many seconds from now. */
  for_seconds?: number;
  /** Aborted, the worker stops: see stop_seconds. */
  signal?: AbortSignal;
  /** How long those that run have when it stops; then their signals abort, and a second later they are given back. */
  stop_seconds?: number;
  lease_seconds?: number;
  /** How long a claim waits for something to come, 0 to 30; a worker that stops waits for it to end. */
  wait_seconds?: number;
  /** Of queues by name: each claim draws their order by these. */
  weights?: Record<string, number>;
  /** How long the end of a task may wait to be told with others, while there is more to do. */
  tell_within_ms?: number;
  /** Goes around each attempt, as a span of its trace does. */
  around?: Around;
  /** Hears what handlers throw, with the task, and of calls that came to nothing. */
  on_error?: Hear;
};

/** Tells a worker that would end, or waits for its handlers to, that there is more to claim. */
export type Knocks = { count(): number; next(): Promise<void> };

/** One that runs its tasks in transactions says how, and makes their completions itself. */
export type Source = Claims & Leases & { run?: RunTask };

/** How a worker claims, and when it has enough. */
type Feeding = {
  source: Claims;
  queues: Weighted[];
  inHands: Hands;
  stopping: Stopping;
  hear: Hear;
  low: number;
  high: number;
  toTheEnd: boolean;
  lease_seconds: number;
  wait_seconds: number;
  worker: string | undefined;
  knocks: Knocks | undefined;
};

const MOST_A_CLAIM = 10_000;
/** However long a server that is busy says: it may have been mistaken. */
const LONGEST_REST_SECONDS = 300;

/** Whoever listens must not break the work, neither at once nor later. */
function carefully(hear: Hear = () => {}): Hear {
  return async (error, task) => {
    try {
      await hear(error, task);
    } catch {}
  };
}

function check(handlers: Map<string, unknown>, concurrency: number, low: number, high: number) {
  for (const [queue, handler] of handlers) {
    // Each task would fail with all its attempts.
    if (typeof handler !== 'function') throw new TypeError(`work: ${queue} has no handler`);
  }
  if (!(concurrency >= 1 && low >= 0 && high > low)) {
    throw new RangeError('work: concurrency is 1 or more, and prefetch has 0 <= low < high');
  }
}

/** Null when nobody answers: a worker that goes on anyway comes again. Late: when its lease began nobody knows. */
async function claim(f: Feeding): Promise<{ answer: ClaimAnswer; late: boolean } | null> {
  const { worker, lease_seconds, stopping } = f;
  const wait_seconds = Math.min(f.wait_seconds, Math.ceil(stopping.left()));
  const limit = Math.min(MOST_A_CLAIM, f.high - f.inHands.count());
  const sent = performance.now();
  try {
    const options = { worker, limit, lease_seconds, wait_seconds };
    const answer = await f.source.claim(f.queues, options, stopping);
    return { answer, late: performance.now() - sent > (wait_seconds + lease_seconds / 3) * 1000 };
  } catch (error) {
    const passing = error instanceof TockError && (error.status === 0 || error.status >= 429);
    if (f.toTheEnd || !passing) throw error;
    f.hear(error);
    const { retry_after_seconds } = error;
    await pause(1000 * Math.min(LONGEST_REST_SECONDS, Math.max(1, retry_after_seconds)), stopping);
    return null;
  }
}

/** After a claim that found nothing: one that waited has done so already; where others are at it, soon. */
function restMs({ wait_seconds }: Feeding, { state, retry_after_seconds }: ClaimAnswer): number {
  if (state === 'passing') return 0;
  if (wait_seconds > 0) return 50;
  return 1000 * (state === 'busy' ? Math.min(1, retry_after_seconds) : retry_after_seconds);
}

const stopped = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve());
  });

/** Claims whenever there is room, until it is to stop; or, to the end, until there is nothing more. */
async function feed(f: Feeding): Promise<void> {
  const { inHands, stopping } = f;
  while (!stopping.aborted) {
    while (inHands.count() > f.low && !stopping.aborted) await inHands.next();
    if (stopping.aborted) return;
    const alone = inHands.count() === 0;
    const knocks = f.knocks?.count();
    const claimed = await claim(f);
    if (!claimed) continue;
    const { leases, state } = claimed.answer;
    for (const leased of leases) inHands.take(leased, claimed.late);
    if (leases.length > 0) continue;
    if (f.toTheEnd && (state === 'empty' || state === 'paused')) {
      const knocked = () => f.knocks?.count() !== knocks;
      if (alone && !knocked()) return;
      // What runs may leave something behind.
      while (inHands.count() > 0 && !knocked() && !stopping.aborted) {
        await Promise.race([inHands.next(), ...(f.knocks ? [f.knocks.next()] : [])]);
      }
    } else await pause(restMs(f, claimed.answer), stopping);
  }
}

const aroundAll = (handlers: Map<string, Handler<unknown, never>>, around: Around) =>
  new Map([...handlers].map(([queue, handler]) => [queue, surrounded(handler, around)]));

/** Works until it is to stop. Rejects when a claim is refused, after what was begun has ended. */
export async function work(
  source: Source,
  handlers: Map<string, Handler<unknown, never>>,
  options: WorkOptions & { knocks?: Knocks } = {},
): Promise<Worked> {
  const { concurrency = 1, lease_seconds = 60, stop_seconds = 20, tell_within_ms = 200 } = options;
  const { low, high } = options.prefetch ?? { low: concurrency - 1, high: concurrency };
  check(handlers, concurrency, low, high);
  const toTheEnd = options.until === 'empty';
  const { wait_seconds = toTheEnd ? 0 : 5, weights, worker, knocks, around } = options;
  const hear = carefully(options.on_error);
  const stopping = stopAt(options);
  const queues = [...handlers.keys()].map((queue) =>
    weights ? { queue, weight: weights[queue] ?? 1 } : queue,
  );
  const shared = { source, lease_seconds, stopping, hear };
  const all = around ? aroundAll(handlers, around) : handlers;
  const inHands = hands({ ...shared, handlers: all, concurrency, tell_within_ms });
  const finished = stopped(stopping).then(() => inHands.finish(stop_seconds));
  if (stopping.aborted) return inHands.worked;
  try {
    await feed({ ...shared, queues, inHands, low, high, toTheEnd, wait_seconds, worker, knocks });
  } finally {
    stopping.stop();
    await finished;
    // What a claim brought that was under way.
    await inHands.empty();
  }
  return inHands.worked;
}
