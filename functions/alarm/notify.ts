import { pause } from '../../client/pause.ts';
import { logError } from '../consumers/drain.ts';
import type { Bindings } from '../env.ts';
import { NOTIFY_ALARM_MS } from '../timeouts.ts';

/** Of the second after which an alarm that has been told rings, for all that came up to here. */
const TOLD_MS = 500;

/** An object that is moved or overloaded comes to itself soon; a Worker has 30 s after its answer. */
const RETRY_MS = [100, 500, 2000, 8000];

/** Tells the Durable Object that something may be due sooner than it knows, several times if need be. */
export function alarmNotifier() {
  let told = Number.NEGATIVE_INFINITY;
  return async ({ ALARM }: Bindings): Promise<void> => {
    if (!ALARM || performance.now() < told + TOLD_MS) return;
    for (const wait of [...RETRY_MS, null]) {
      told = performance.now();
      try {
        const stub = ALARM.get(ALARM.idFromName('tock') as never);
        const signal = AbortSignal.timeout(NOTIFY_ALARM_MS);
        await stub.fetch('https://alarm/', { method: 'POST', signal });
        return;
      } catch (error) {
        // Meanwhile the next call tells.
        told = Number.NEGATIVE_INFINITY;
        if (wait === null) logError(error);
        else await pause(wait);
      }
    }
  };
}
