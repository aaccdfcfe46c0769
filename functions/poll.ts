import type { Answer } from './endpoint.ts';

const FIRST_MS = 50;
const LONGEST_MS = 1_000;
/** Claims that only passed over cancelled runs, 10,000 each, are repeated at once so many times. */
const MOST_PASSES = 100;

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

/**
 * Repeats a claim until it finds something, the time is up or the client has gone: soon at first,
 * then once a second, never asleep inside the database; without a pause while it passes over much.
 */
export async function poll(
  once: () => Promise<Answer>,
  stateOf: (body: string) => string,
  seconds: number,
  gone: AbortSignal,
): Promise<Answer> {
  const end = Date.now() + seconds * 1000;
  let passes = 0;
  for (let wait = FIRST_MS; ; ) {
    const answer = await once();
    const left = end - Date.now();
    if (!answer || left <= 0 || gone.aborted) return answer;
    const state = stateOf(answer.body);
    if (state === 'found') return answer;
    if (state === 'passing' && passes++ < MOST_PASSES) continue;
    // Apart from each other, or all who wait would ask in step.
    await pause(Math.min(left, wait * (0.8 + 0.4 * Math.random())), gone);
    if (gone.aborted) return answer;
    wait = Math.min(wait * 2, LONGEST_MS);
  }
}
