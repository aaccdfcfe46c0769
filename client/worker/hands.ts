import { WorkerStopped } from '../errors.ts';
import type { Leases } from '../lease.ts';
import { pause } from '../pause.ts';
import type { Claimed, LeasedTasks } from '../types.ts';
import { bell } from './bell.ts';
import type { Handler } from './handlers.ts';
import { type Held, type HeldTask, hold } from './held.ts';
import { endOf } from './outcome.ts';
import { type RunTask, runTask } from './run.ts';
import type { Kind } from './tell.ts';

/** What became of the tasks that were claimed. Lost: the lease was over, or nobody could be told. */
export type Worked = Record<Kind, number>;

export type Hear = (error: unknown, task?: Claimed) => void;

type Options = {
  source: Leases & { run?: RunTask };
  handlers: Map<string, Handler<unknown, never>>;
  concurrency: number;
  lease_seconds: number;
  tell_within_ms: number;
  stopping: AbortSignal;
  hear: Hear;
};

/** What a worker has in hand: tasks that run, and tasks that wait for a handler to be free. */
export type Hands = {
  worked: Worked;
  /** How many tasks are claimed and not told of yet. */
  count(): number;
  /** When something has changed. */
  next(): Promise<void>;
  empty(): Promise<void>;
  /** A lease to work on; of a worker that stops, to give back. */
  take(leased: LeasedTasks, late: boolean): void;
  /** Gives back at once what has not begun, and after so many seconds what has not ended. */
  finish(seconds: number): Promise<void>;
};

/** How long handlers have that hear that their worker stops. */
const GRACE_MS = 1000;

export function hands(options: Options): Hands {
  const { source, handlers, concurrency, lease_seconds, tell_within_ms, stopping, hear } = options;
  const worked: Worked = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0 };
  const leases = new Set<Held>();
  const waiting: HeldTask[] = [];
  const { ring, next } = bell();
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

  async function empty(): Promise<void> {
    while (inHand > 0) await next();
  }

  /** Those that still run hear of it, and are given back whether they end or not. */
  async function stopRunning(ended: AbortSignal): Promise<void> {
    for (const held of leases) held.abort(new WorkerStopped());
    await pause(GRACE_MS, ended);
    for (const held of leases) held.giveBack(new WorkerStopped());
  }

  async function finish(seconds: number): Promise<void> {
    ring();
    for (const held of leases) held.giveBack();
    const ended = new AbortController();
    const all = empty().then(() => ended.abort());
    await pause(seconds * 1000, ended.signal);
    if (inHand > 0) await stopRunning(ended.signal);
    await all;
  }

  return { worked, count: () => inHand, next, empty, take, finish };
}
