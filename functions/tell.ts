import { logError } from './consumers/drain.ts';
import type { Bindings } from './query.ts';

/** Of the second after which an alarm that has been told rings, for all that came up to here. */
const TOLD_MS = 500;

/** Tells the Durable Object that something may be due sooner than it knows. What could not be told, the next call tells. */
export function teller() {
  let told = Number.NEGATIVE_INFINITY;
  return async ({ ALARM }: Bindings): Promise<void> => {
    const now = performance.now();
    if (!ALARM || now < told + TOLD_MS) return;
    told = now;
    try {
      const stub = ALARM.get(ALARM.idFromName('tock') as never);
      await stub.fetch('https://alarm/', { method: 'POST' });
    } catch (error) {
      told = Number.NEGATIVE_INFINITY;
      logError(error);
    }
  };
}
