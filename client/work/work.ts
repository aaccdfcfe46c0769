import type { Claims, Weighted } from '../claims.ts';
import { TockError, WorkerStopped } from '../errors.ts';
import type { Leases } from '../lease.ts';
import { pause } from '../pause.ts';
import type { ClaimAnswer, Claimed, LeasedTasks } from '../types.ts';
import { bell } from './bell.ts';
import type { Handler } from './handlers.ts';
import { type Held, type HeldTask, hold } from './held.ts';
import { endOf } from './outcome.ts';
import { type RunTask, runTask } from './run.ts';
import { stopAt } from './stop.ts';
import type { Kind } from './tell.ts';

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
  /** Hears what handlers throw, with the task, and of calls that came to nothing. */
  on_error?: (error: unknown, task?: Claimed) => void;
};

/** What became of the tasks that were claimed. Lost: the lease was over, or nobody could be told. */
export type Worked = Record<Kind, number>;

/** One that runs its tasks in transactions says how, and makes their completions itself. */
export type Source = Claims & Leases & { run?: RunTask };

const GRACE_MS = 1000;

/** Whoever listens must not break the work. */
function carefully(hear: WorkOptions['on_error']): NonNullable<WorkOptions['on_error']> {
  return (error, task) => {
    try {
      hear?.(error, task);
    } catch {}
  };
}

function check(concurrency: number, low: number, high: number): void {
  if (!(concurrency >= 1 && low >= 0 && high > low)) {
    throw new RangeError('work: concurrency is 1 or more, and prefetch has 0 <= low < high');
  }
}

/** Works until it is to stop. Rejects when a claim is refused, after what was begun has ended. */
export async function work(
  source: Source,
  handlers: Map<string, Handler<unknown, never>>,
  options: WorkOptions = {},
): Promise<Worked> {
  const { concurrency = 1, lease_seconds = 60, stop_seconds = 20, tell_within_ms = 200 } = options;
  const { low, high } = options.prefetch ?? { low: concurrency - 1, high: concurrency };
  check(concurrency, low, high);
  const toTheEnd = options.until === 'empty';
  const { wait_seconds: longest = toTheEnd ? 0 : 5 } = options;
  const hear = carefully(options.on_error);
  const worked: Worked = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0 };
  const leases = new Set<Held>();
  const waiting: HeldTask[] = [];
  const { ring, next } = bell();
  const stopping = stopAt(options);
  const queues: Weighted[] = [...handlers.keys()].map((queue) =>
    options.weights ? { queue, weight: options.weights[queue] ?? 1 } : queue,
  );
  let inHand = 0;
  let running = 0;

  function take(leased: LeasedTasks, late: boolean): void {
    const held = hold(source, leased, {
      lease_seconds,
      late,
      tell_within_ms,
      // Nobody is idle.
      patient: () => running >= concurrency || waiting.some((one) => !one.ended),
      counted(kind, count) {
        worked[kind] += count;
        inHand -= count;
        ring();
      },
      over: () => void leases.delete(held),
      error: hear,
    });
    inHand += held.tasks.length;
    leases.add(held);
    if (stopping.aborted) held.giveBack();
    else waiting.push(...held.tasks);
    begin();
  }

  function begin(): void {
    while (running < concurrency && waiting.length > 0) {
      const held = waiting.shift() as HeldTask;
      if (!held.ended) void run(held);
    }
  }

  async function run(held: HeldTask): Promise<void> {
    held.begun = true;
    running++;
    const handler = handlers.get(held.task.queue) as Handler<unknown, never>;
    const { signal } = held.abort;
    const go = () => (source.run ?? runTask)(held, handler, (error) => hear(error, held.task));
    const end = await (signal.aborted ? endOf(undefined, signal) : go());
    running--;
    begin();
    held.end(end);
    ring();
  }

  /** Null when nobody answers: a worker that goes on anyway comes again. */
  async function claim(): Promise<[answer: ClaimAnswer, late: boolean] | null> {
    const { worker } = options;
    const wait_seconds = Math.min(longest, Math.ceil(stopping.left()));
    const limit = Math.min(10_000, high - inHand);
    const sent = performance.now();
    try {
      const answer = await source.claim(
        queues,
        { worker, limit, lease_seconds, wait_seconds },
        stopping,
      );
      const late = performance.now() - sent > (wait_seconds + lease_seconds / 3) * 1000;
      return [answer, late];
    } catch (error) {
      const passing = error instanceof TockError && (error.status === 0 || error.status >= 429);
      if (toTheEnd || !passing) throw error;
      hear(error);
      await pause(1000, stopping);
      return null;
    }
  }

  const nothing = async () => {
    while (inHand > 0 && !stopping.aborted) await next();
  };

  /** After a claim that found nothing: one that waited has done so already; where others are at it, soon. */
  const rest = ({ state, retry_after_seconds }: ClaimAnswer) => {
    if (state === 'passing') return 0;
    if (longest > 0) return 50;
    return 1000 * (state === 'busy' ? Math.min(1, retry_after_seconds) : retry_after_seconds);
  };

  async function feed(): Promise<void> {
    while (!stopping.aborted) {
      while (inHand > low && !stopping.aborted) await next();
      if (stopping.aborted) return;
      const alone = inHand === 0;
      const answered = await claim();
      if (!answered) continue;
      const [answer, late] = answered;
      for (const leased of answer.leases) take(leased, late);
      if (answer.leases.length > 0) continue;
      if (toTheEnd && (answer.state === 'empty' || answer.state === 'paused')) {
        if (alone) return;
        // What runs may leave something behind.
        await nothing();
      } else await pause(rest(answer), stopping);
    }
  }

  /** Those that run have their time; what has not begun goes to others at once. */
  async function finish(): Promise<void> {
    for (const held of leases) held.giveBack();
    ring();
    const bound = new AbortController();
    const ended = (async () => {
      while (inHand > 0) await next();
      bound.abort();
    })();
    await pause(stop_seconds * 1000, bound.signal);
    if (inHand > 0) {
      for (const held of leases) {
        for (const one of held.tasks) if (!one.ended) one.abort.abort(new WorkerStopped());
      }
      await pause(GRACE_MS, bound.signal);
      for (const held of leases) held.giveBack(new WorkerStopped());
    }
    await ended;
  }

  let finishing: Promise<void> | undefined;
  stopping.addEventListener('abort', () => {
    finishing = finish();
  });
  if (!stopping.aborted) {
    try {
      await feed();
    } finally {
      stopping.stop();
      await finishing;
      // What a claim brought that was under way.
      while (inHand > 0) await next();
    }
  }
  return worked;
}
