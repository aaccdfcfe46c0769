import { pause } from '../../client/pause.ts';
import type { Knocks } from '../../client/worker/work.ts';

/** Keeps an invocation alive until a promise has settled; waitUntil is one. */
export type Hold = (promise: Promise<unknown>) => void;

/** Works for up to so many seconds, and claims again at each knock. It gets what came with the wake that began it. */
export type Work<With> = (
  seconds: number,
  knocks: Knocks,
  hold: Hold,
  given?: With,
) => Promise<unknown>;

type Options = {
  /** How long one turn may take. A Worker has 30 s after its answer. */
  seconds?: number;
  /** From the beginning of one work to the next. */
  quiet_ms?: number;
};

/** `until`: it begins nothing after that, whether it lives or not, and leaves what it has not heard to its heir. */
type Turn = { until: number; heir: boolean; unheard: boolean };

/** The least of its time that a turn has for what it begins. */
const LEAST_SHARE = 0.4;
const FIRST_LOOK_MS = 10;

/** Looks often at first. Promises of other requests are not for a Worker to wait for. */
const looks = (since: number, longest: number) =>
  pause(Math.min(longest, Math.max(FIRST_LOOK_MS, (performance.now() - since) / 10)));

/**
 * Wakes that come while one is at work make no other: it hears a knock, or looks once more at its end. There is no
 * await between that last look and its being over, so none goes unheard. The first of them stays as its heir, should
 * it be busy with other things to the end of its time, or have been killed. Returns whether a wake began to work.
 */
export function singleFlight<With = never>(
  work: Work<With>,
  { seconds = 25, quiet_ms = 0 }: Options = {},
) {
  let knocks = 0;
  let last = Number.NEGATIVE_INFINITY;
  let current: Turn | null = null;

  /** For what is left of the time of whoever takes it. */
  async function take(end: number, hold: Hold, given?: With): Promise<void> {
    const turn: Turn = { until: end - seconds * LEAST_SHARE * 1000, heir: false, unheard: false };
    current = turn;
    try {
      for (let first = true; ; first = false) {
        const rest = last + quiet_ms - performance.now();
        if (rest > 0) await pause(rest);
        last = performance.now();
        const began = last;
        const seen = knocks;
        const told = { count: () => knocks, next: () => looks(began, 200) };
        await work((end - began) / 1000, told, hold, first ? given : undefined);
        if (knocks === seen || current !== turn) return;
        turn.unheard = performance.now() >= turn.until;
        if (turn.unheard) return;
      }
    } finally {
      if (current === turn) current = null;
    }
  }

  async function inherit(turn: Turn, end: number, hold: Hold): Promise<void> {
    const began = performance.now();
    while (current === turn && performance.now() < turn.until) await looks(began, 1000);
    if (current === turn || (turn.unheard && !current)) await take(end, hold);
  }

  return (hold: Hold, own_seconds = seconds, given?: With): boolean => {
    const now = performance.now();
    const end = now + own_seconds * 1000;
    knocks++;
    if (!current || now >= current.until) {
      hold(take(end, hold, given));
      return true;
    }
    if (!current.heir) {
      current.heir = true;
      hold(inherit(current, end, hold));
    }
    return false;
  };
}
