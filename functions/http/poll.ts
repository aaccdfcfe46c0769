import type { Answer, Once } from './endpoint.ts';

const EVERY_MS = 20;
/** Claims that only passed over cancelled runs, 10,000 each, are repeated at once so many times. */
const MOST_PASSES = 100;

type Wait = {
  seconds: number;
  /** How often it may ask in all, where there is a limit. */
  most?: number | undefined;
  /** Each pause is at least so large a share of the time waited so far. */
  share?: number;
  /** Seconds in which a queue that is at its limit says it will be so no more, rounded up. */
  laterOf?: (body: string) => number;
  /** Takes a place for a look after the first, and returns what gives it back; null when there is none. */
  look?: () => (() => void) | null;
  gone: AbortSignal;
};

const nothing = () => {};

/** Resolves after some time, or at once when the client goes. */
function pause(ms: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer);
      gone.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    gone.addEventListener('abort', over);
  });
}

/** A place for a look, as soon as one is free; null when the time is up. */
async function placed(look: () => (() => void) | null, end: number, gone: AbortSignal) {
  for (;;) {
    // What it found would go to nobody.
    if (gone.aborted) return null;
    const leave = look();
    if (leave || Date.now() >= end) return leave;
    await pause(EVERY_MS * (1 + Math.random()), gone);
  }
}

/**
 * Repeats a statement until it has found something, the time is up or the client has gone: fifty times a
 * second, never asleep inside the database; less often where that is slow, so that those who wait don't
 * keep it so, or where there is a limit: then its looks are spread over the time. Without a pause while it
 * passes over much, and not before it can be of use while a queue's rate holds it up. Those who wait in one isolate
 * share a few places to look from.
 */
export async function poll(
  once: Once,
  stateOf: (body: string) => string,
  {
    seconds,
    most = Number.POSITIVE_INFINITY,
    share = 0,
    laterOf = () => 0,
    look = () => nothing,
    gone,
  }: Wait,
): Promise<Answer> {
  const start = Date.now();
  const end = start + seconds * 1000;
  let now = start;
  let passes = 0;
  let leave: (() => void) | null = nothing;
  for (let left = most - 1; ; left--) {
    const asked = now;
    const answer: Answer = await once().finally(leave);
    now = Date.now();
    if (!answer || now >= end || left <= 0 || gone.aborted) return answer;
    const state = stateOf(answer.body);
    if (state === 'found') return answer;
    leave = nothing;
    if (state === 'passing' && passes++ < MOST_PASSES) continue;
    const took = now - asked;
    const spread = (end - now) / left;
    // Apart from each other, or all who wait would ask in step.
    const turn =
      Math.max(EVERY_MS - took, spread, share * (now - start)) * (0.8 + 0.4 * Math.random());
    const vain = state === 'limited' ? (laterOf(answer.body) - 1) * 1000 : 0;
    // The last look is at the end.
    await pause(left === 1 ? end - now : Math.min(end - now, Math.max(turn, took, vain)), gone);
    leave = await placed(look, end, gone);
    if (!leave) return answer;
    now = Date.now();
  }
}
