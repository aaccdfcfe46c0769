import { pause } from '../../client/pause.ts';
import { logError } from '../consumers/drain.ts';
import type { Bindings } from '../env.ts';
import { NOTIFY_ALARM_MS } from '../timeouts.ts';

/** One notification covers all requests within this time; the alarm fires a second later. */
const QUIET_MS = 500;

/** A moved or overloaded object recovers soon, and a Worker has 30 s after its response. */
const RETRY_MS = [100, 500, 2000, 8000];

/** Notifies the Durable Object that work may be due before its alarm; retries on failure. */
export function alarmNotifier() {
  let notified_at = Number.NEGATIVE_INFINITY;
  return async ({ ALARM }: Bindings): Promise<void> => {
    if (!ALARM || performance.now() < notified_at + QUIET_MS) return;
    for (const delay_ms of [...RETRY_MS, null]) {
      notified_at = performance.now();
      try {
        const stub = ALARM.get(ALARM.idFromName('tock') as never);
        const signal = AbortSignal.timeout(NOTIFY_ALARM_MS);
        await stub.fetch('https://alarm/', { method: 'POST', signal });
        return;
      } catch (error) {
        // A call during the pause notifies too.
        notified_at = Number.NEGATIVE_INFINITY;
        if (delay_ms === null) logError(error);
        else await pause(delay_ms);
      }
    }
  };
}
