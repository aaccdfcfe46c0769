import { logError } from '../consumers/drain.ts';
import type { Changes } from '../waiting/changes.ts';
import type { Answer } from './answer.ts';
import type { Once } from './endpoint.ts';

const POLL_MS = 20;
/** A claim that only skipped cancelled runs (up to 10,000) is repeated at once, up to this many times. */
const MAX_SKIPS = 100;
/** A call that waits in the hub waits so many times at most, because a Worker's request may make 50 on the free plan. */
const MAX_WAITS = 40;

type Wait = {
  seconds: number;
  /** Maximum number of statements, if there is a limit. */
  most?: number | undefined;
  /** Each pause is at least this share of the time waited so far. */
  share?: number;
  /** The seconds, rounded up, until the limit of a queue admits the next task. */
  secondsToAdmission?: (body: string) => number;
  /** Takes a slot for a poll after the first; returns the function that releases it, null without a free slot. */
  pollSlot?: () => (() => void) | null;
  disconnected: AbortSignal;
  /** Tells when something has changed; without it the call polls. */
  changes?: Changes | undefined;
  /**
   * True for a call whose request id an earlier call may have had: only its own looks tell whether that call has found
   * tasks. So the first and the last look are its own.
   */
  isRepeatable?: boolean;
  /**
   * Whether a call that may wait in the hub no more, because other calls change much, polls until its time is up.
   * Otherwise it answers then.
   */
  pollsAtLast?: boolean;
};

/** In these states only a change of something lets the call find more. */
const idleStates = ['empty', 'paused', 'going on'];

const noop = () => {};

/** Resolves after a delay, or at once when the client disconnects. */
function pause(ms: number, disconnected: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      disconnected.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    disconnected.addEventListener('abort', done);
  });
}

/** Waits for a slot; null when the time is up. */
async function waitForSlot(
  pollSlot: () => (() => void) | null,
  deadline: number,
  disconnected: AbortSignal,
) {
  for (;;) {
    // The client has disconnected.
    if (disconnected.aborted) return null;
    const leave = pollSlot();
    if (leave || Date.now() >= deadline) return leave;
    await pause(POLL_MS * (1 + Math.random()), disconnected);
  }
}

/**
 * Repeats a statement until it finds a task, the time is up, or the client disconnects. With `changes` it waits for a
 * change before it looks again. Otherwise it polls fifty times a second, less often if the database is slow or the
 * number of statements is limited. It does not pause after a claim that only skipped cancelled runs. If a queue's limit
 * admits no task yet, it pauses until it does. The waiting calls of one isolate share a few slots for their polls.
 */
export async function poll(
  once: Once,
  stateOf: (body: string) => string,
  {
    seconds,
    most = Number.POSITIVE_INFINITY,
    share = 0,
    secondsToAdmission = () => 0,
    pollSlot = () => noop,
    disconnected,
    changes,
    isRepeatable = false,
    pollsAtLast = false,
  }: Wait,
): Promise<Answer> {
  const start = Date.now();
  const deadline = start + seconds * 1000;
  let now = start;
  let skips = 0;
  let leave: (() => void) | null = noop;
  const known = seconds > 0 ? changes?.recent() : undefined;
  let recent = isRepeatable ? undefined : known;
  // A wait in the hub is a request of its own, and counts as a statement.
  let waits = Math.min(MAX_WAITS, Math.ceil(most / (pollsAtLast ? 3 : 2)));
  const look = () =>
    once()
      .finally(leave)
      .catch((error) => {
        changes?.gaveUp();
        throw error;
      });
  for (let remaining = most - 1; ; remaining--) {
    const asked_at = now;
    const answer: Answer = recent ?? (await look());
    const isRecent = recent !== undefined;
    recent = undefined;
    now = Date.now();
    if (!answer) return answer;
    const state = stateOf(answer.body);
    // Also at the deadline, as there may be more tasks for others.
    if (state === 'found') {
      changes?.found();
      return answer;
    }
    if (now >= deadline || remaining <= 0 || disconnected.aborted) return answer;
    leave = noop;
    if (state === 'passing' && skips++ < MAX_SKIPS) continue;
    if (isRecent) remaining++;
    let hasReason: boolean | undefined;
    if (changes && idleStates.includes(state)) {
      if (waits-- > 0) {
        if (!isRecent) changes.foundNothing(answer, (seconds * 1000) / Math.ceil(most / 2));
        remaining--;
        hasReason = await changes.next(deadline, disconnected).catch((error) => {
          logError(error);
          changes = undefined;
          return undefined;
        });
        if (hasReason === false) return isRepeatable && !disconnected.aborted ? once() : answer;
      } else if (pollsAtLast) changes = undefined;
      else return answer;
    }
    if (!hasReason) {
      const duration_ms = now - asked_at;
      const interval_ms = (deadline - now) / remaining;
      // The random factor keeps waiting calls from polling all at the same time.
      const pause_ms =
        Math.max(POLL_MS - duration_ms, interval_ms, share * (now - start)) *
        (0.8 + 0.4 * Math.random());
      const limited_ms = state === 'limited' ? (secondsToAdmission(answer.body) - 1) * 1000 : 0;
      // The last poll runs at the deadline.
      const wait_ms =
        remaining === 1 ? deadline - now : Math.max(pause_ms, duration_ms, limited_ms);
      await pause(Math.min(deadline - now, wait_ms), disconnected);
    }
    leave = await waitForSlot(pollSlot, deadline, disconnected);
    if (!leave) {
      changes?.gaveUp();
      return answer;
    }
    now = Date.now();
  }
}
