import { pause } from '../../client/pause.ts';
import type { Wakeups } from '../../client/worker/work.ts';

/** Keeps an invocation alive until a promise settles, like waitUntil(). */
export type KeepAlive = (promise: Promise<unknown>) => void;

/** Works for up to this many seconds, and claims again at each wakeup. The wakeup that starts it passes `resource`. */
export type Work<With> = (
  seconds: number,
  wakeups: Wakeups,
  keepAlive: KeepAlive,
  resource?: With,
) => Promise<unknown>;

type Options = {
  /** How long one turn may take. A Worker has 30 s after its response. */
  seconds?: number;
  /** Minimum time from one start of work to the next. */
  quiet_ms?: number;
};

/**
 * One run of the work. After `until` a new wakeup starts the next turn, because this one may have been killed. The
 * successor also handles wakeups that this turn missed at its end.
 */
type Turn = { until: number; hasSuccessor: boolean; missedWakeups: boolean };

/** `until` is set so that a turn has at least this share of its time left for work that it starts. */
const MIN_SHARE = 0.4;
const FIRST_POLL_MS = 10;

/** Waits for the next poll; the pauses grow. It polls because a Worker cannot await promises of other requests. */
const poll = (since: number, longest: number) =>
  pause(Math.min(longest, Math.max(FIRST_POLL_MS, (performance.now() - since) / 10)));

/**
 * Runs the work in one turn at a time. A wakeup during a turn starts no second turn: the current turn sees it, or works
 * once more at its end. After its last check a turn ends without an await, so no wakeup is missed. The first wakeup
 * during a turn waits as its successor, in case the turn is killed or busy until its end. Returns true if this wakeup
 * started a turn.
 */
export function singleFlight<With = never>(
  work: Work<With>,
  { seconds = 25, quiet_ms = 0 }: Options = {},
) {
  let wakeups = 0;
  let last = Number.NEGATIVE_INFINITY;
  let current: Turn | null = null;

  /** Runs a turn for the remaining time of this invocation. */
  async function runTurn(end: number, keepAlive: KeepAlive, resource?: With): Promise<void> {
    const turn: Turn = {
      until: end - seconds * MIN_SHARE * 1000,
      hasSuccessor: false,
      missedWakeups: false,
    };
    current = turn;
    try {
      for (let first = true; ; first = false) {
        const delay_ms = last + quiet_ms - performance.now();
        if (delay_ms > 0) await pause(delay_ms);
        last = performance.now();
        const started_at = last;
        const wakeupsBefore = wakeups;
        const handle = { count: () => wakeups, next: () => poll(started_at, 50) };
        await work((end - started_at) / 1000, handle, keepAlive, first ? resource : undefined);
        if (wakeups === wakeupsBefore || current !== turn) return;
        turn.missedWakeups = performance.now() >= turn.until;
        if (turn.missedWakeups) return;
      }
    } finally {
      if (current === turn) current = null;
    }
  }

  async function succeed(turn: Turn, end: number, keepAlive: KeepAlive): Promise<void> {
    const started_at = performance.now();
    while (current === turn && performance.now() < turn.until) await poll(started_at, 1000);
    if (current === turn || (turn.missedWakeups && !current)) await runTurn(end, keepAlive);
  }

  const isIdle = () => !current || performance.now() >= current.until;

  const wake = (keepAlive: KeepAlive, own_seconds = seconds, resource?: With): boolean => {
    const now = performance.now();
    const end = now + own_seconds * 1000;
    wakeups++;
    if (!current || isIdle()) {
      keepAlive(runTurn(end, keepAlive, resource));
      return true;
    }
    if (!current.hasSuccessor) {
      current.hasSuccessor = true;
      keepAlive(succeed(current, end, keepAlive));
    }
    return false;
  };
  return Object.assign(wake, { isIdle });
}
