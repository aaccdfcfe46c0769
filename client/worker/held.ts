import { LeaseLost, TaskCancelled } from '../errors.ts';
import type { Leases } from '../lease.ts';
import type { Claimed, LeasedTasks, Progress } from '../types.ts';
import { heartbeat } from './heartbeat.ts';
import type { End } from './outcome.ts';
import { type Ended, type Hears, type Kind, teller } from './tell.ts';

/** A task in a worker's hands. */
export type HeldTask = {
  task: Claimed;
  lease: string;
  abort: AbortController;
  begun: boolean;
  ended: boolean;
  progress(said: Progress): void;
  /** Later ends of the same task are dropped. */
  end(how: End): void;
};

/** A lease in a worker's hands: kept alive, and told of, until nothing of it is left. */
export type Held = {
  tasks: HeldTask[];
  /** Gives back what has not begun; with a reason also what runs, whose signals it aborts. */
  giveBack(reason?: Error): void;
  /** Aborts the signals of what has not ended. */
  abort(reason: Error): void;
};

export type HoldOptions = {
  lease_seconds: number;
  late: boolean;
  tell_within_ms: number;
  /** Whether more ends of this lease may be waited for: nobody is idle meanwhile. */
  patient(): boolean;
  counted(kind: Kind, count: number): void;
  /** Nothing is left of it. */
  over(): void;
  error(error: unknown): void;
};

const ranOut = () => new LeaseLost(409, { detail: 'The time of this lease is over.' });

export function hold(source: Leases, leased: LeasedTasks, options: HoldOptions): Held {
  const { counted, over, error } = options;
  const tasks = leased.tasks.map(held);
  let left = tasks.length;
  // Counted: to look for them at each end takes a second of a lease of 10,000.
  let goingOn = tasks.length;
  let lost = false;
  let ends: Ended[] = [];
  let telling = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const hears: Hears = { counted: count, lost: lose, error };
  const tell = teller(source, leased, hears);
  const { lease_seconds, late } = options;
  const beats = heartbeat(source, leased, lease_seconds, late, {
    cancel: (ids) => {
      for (const one of going(ids)) one.abort.abort(new TaskCancelled());
    },
    lost: lose,
    ranOut() {
      beats.stop();
      drop(ranOut());
    },
    error,
  });

  function held(task: Claimed): HeldTask {
    const one: HeldTask = {
      task,
      lease: leased.lease,
      abort: new AbortController(),
      begun: false,
      ended: false,
      progress: (said) => beats.progress(task.id, said),
      end(how) {
        note(one, how);
        if (goingOn === 0 || how.kind === 'told' || !options.patient()) void tellAll();
        else timer ??= setTimeout(tellAll, options.tell_within_ms);
      },
    };
    return one;
  }

  function note(one: HeldTask, how: End): void {
    if (one.ended) return;
    one.ended = true;
    goingOn--;
    beats.forget(one.task.id);
    if (lost && how.kind !== 'told') count('lost', 1);
    else ends.push({ id: one.task.id, end: how });
  }

  const going = (ids?: string[]) =>
    tasks.filter((one) => !one.ended && (ids?.includes(one.task.id) ?? true));

  function count(kind: Kind, n: number): void {
    left -= n;
    counted(kind, n);
    if (left > 0) return;
    beats.stop();
    over();
  }

  async function tellAll(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (telling) return;
    telling = true;
    while (ends.length > 0) {
      const now = ends;
      ends = [];
      await tell(now);
    }
    telling = false;
  }

  /** What runs hears that it should stop, what has not begun is not begun. */
  function drop(reason: Error): void {
    for (const one of going()) {
      one.abort.abort(reason);
      if (one.begun) continue;
      one.ended = true;
      goingOn--;
      count('lost', 1);
    }
  }

  function lose(reason: LeaseLost): void {
    if (lost) return;
    lost = true;
    beats.stop();
    drop(reason);
  }

  return {
    tasks,
    abort(reason) {
      for (const one of going()) one.abort.abort(reason);
    },
    giveBack(reason) {
      for (const one of going()) {
        if (one.begun && !reason) continue;
        if (reason) one.abort.abort(reason);
        note(one, { kind: 'released' });
      }
      void tellAll();
    },
  };
}
