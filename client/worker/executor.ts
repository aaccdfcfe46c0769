import { WorkerStopped } from '../errors.ts';
import type { Leases } from '../lease.ts';
import { pause } from '../pause.ts';
import type { Claimed, LeasedTasks } from '../types.ts';
import type { Handler } from './handlers.ts';
import {
  type EndWithClaim,
  type LeasedBatch,
  type LeasedTask,
  leaseBatch,
} from './leased_tasks.ts';
import { createNotifier } from './notifier.ts';
import { outcomeOfError } from './outcome.ts';
import type { OutcomeKind } from './report_outcomes.ts';
import { type RunTask, runTask } from './run.ts';

/** Number of claimed tasks by outcome. `lost`: the lease ended, or the outcome could not be reported. */
export type WorkCounts = Record<OutcomeKind, number>;

export type ErrorListener = (error: unknown, task?: Claimed) => void;

type ExecutorOptions = {
  source: Leases & { run?: RunTask };
  handlers: Map<string, Handler<unknown, never>>;
  concurrency: number;
  /** The worker claims more if it has this many tasks or fewer. */
  low: number;
  /** A claim can end leases. */
  claimsCanEnd: boolean;
  lease_seconds: number;
  version: number;
  report_within_ms: number;
  stopping: AbortSignal;
  onError: ErrorListener;
};

/** The tasks that a worker has leased: running ones, and those that wait for a free handler. */
export type Executor = {
  counts: WorkCounts;
  /** Number of tasks that are claimed and not yet reported. */
  count(): number;
  /** Resolves at the next change. */
  next(): Promise<void>;
  /** Resolves when there is room to claim, or the worker stops, with the outcomes that the claim is to report. */
  room(): Promise<EndWithClaim[]>;
  /** Leaves outcomes to the claim after this one, if this one is answered soon. */
  duringClaim<T>(claiming: Promise<T>): Promise<T>;
  /** True if outcomes wait for the next claim. */
  hasOutcomes(): boolean;
  whenEmpty(): Promise<void>;
  /** Adds a lease to work on; a stopping worker releases it. */
  add(lease: LeasedTasks, late: boolean): void;
  /** Releases waiting tasks at once, and running tasks after this many seconds. */
  finish(seconds: number): Promise<void>;
};

/** Maximum number of leases that one claim ends. */
const MAX_ENDS = 1000;

/** How long handlers may still run after their signals have aborted. */
const GRACE_MS = 1000;

export function createExecutor(options: ExecutorOptions): Executor {
  const { source, handlers, concurrency, low, claimsCanEnd, lease_seconds, report_within_ms } =
    options;
  const { stopping, onError, version } = options;
  const counts: WorkCounts = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0 };
  const leases = new Set<LeasedBatch>();
  const waiting: LeasedTask[] = [];
  const { notify, next } = createNotifier();
  let leasedCount = 0;
  let running = 0;
  let isClaiming = false;
  let isClaimNext = false;
  /** Leases that have outcomes for the claim after this one. */
  const delayed = new Set<() => void>();
  let withClaim: EndWithClaim[] = [];
  let withClaimCount = 0;

  function add(lease: LeasedTasks, late: boolean): void {
    const batch = leaseBatch(source, lease, {
      lease_seconds,
      version,
      late,
      report_within_ms,
      // All handlers are busy.
      canWait: () => running >= concurrency || waiting.some(({ ended }) => !ended),
      waitForClaim(report) {
        const waits = isClaiming && !stopping.aborted;
        if (waits) delayed.add(report);
        return waits;
      },
      endWithClaim(ends) {
        if (!isClaimNext || !isRoom(ends.count) || withClaim.length === MAX_ENDS) return false;
        withClaim.push(ends);
        withClaimCount += ends.count;
        notify();
        return true;
      },
      counted(kind, count) {
        counts[kind] += count;
        leasedCount -= count;
        notify();
      },
      onEmpty: () => void leases.delete(batch),
      error: onError,
    });
    leasedCount += batch.tasks.length;
    leases.add(batch);
    if (stopping.aborted) batch.release();
    else waiting.push(...batch.tasks);
    startNext();
  }

  function startNext(): void {
    while (running < concurrency && waiting.length > 0) {
      const leased = waiting.shift() as LeasedTask;
      if (!leased.ended) void run(leased);
    }
  }

  async function run(leased: LeasedTask): Promise<void> {
    leased.started = true;
    running++;
    const handler = handlers.get(leased.task.queue) as Handler<unknown, never>;
    const { signal } = leased.abort;
    const runHandler = () =>
      (source.run ?? runTask)(leased, handler, (error) => onError(error, leased.task));
    const end = await (signal.aborted ? outcomeOfError(undefined, signal) : runHandler());
    running--;
    startNext();
    leased.end(end);
    notify();
  }

  /** Whether the worker claims more once `ending` tasks have ended. */
  const isRoom = (ending = 0) => leasedCount - withClaimCount - ending <= low;

  function reportDelayed(): void {
    isClaiming = false;
    for (const report of delayed) report();
    delayed.clear();
  }

  async function duringClaim<T>(claiming: Promise<T>): Promise<T> {
    isClaiming = claimsCanEnd;
    const timer = setTimeout(reportDelayed, report_within_ms);
    try {
      return await claiming;
    } catch (error) {
      reportDelayed();
      throw error;
    } finally {
      clearTimeout(timer);
      isClaiming = false;
    }
  }

  async function room(): Promise<EndWithClaim[]> {
    isClaimNext = claimsCanEnd;
    reportDelayed();
    while (!isRoom() && !stopping.aborted) await next();
    isClaimNext = false;
    const ends = withClaim;
    withClaim = [];
    withClaimCount = 0;
    return ends;
  }

  async function whenEmpty(): Promise<void> {
    while (leasedCount > 0) await next();
  }

  /** Aborts the signals of running tasks, then releases those that have not ended. */
  async function stopRunning(ended: AbortSignal): Promise<void> {
    for (const batch of leases) batch.abort(new WorkerStopped());
    await pause(GRACE_MS, ended);
    for (const batch of leases) batch.release(new WorkerStopped());
  }

  async function finish(seconds: number): Promise<void> {
    notify();
    reportDelayed();
    for (const batch of leases) batch.release();
    const ended = new AbortController();
    const all = whenEmpty().then(() => ended.abort());
    await pause(seconds * 1000, ended.signal);
    if (leasedCount > 0) await stopRunning(ended.signal);
    await all;
  }

  const hasOutcomes = () => delayed.size > 0;
  const count = () => leasedCount;
  return { counts, count, next, room, duringClaim, hasOutcomes, whenEmpty, add, finish };
}
