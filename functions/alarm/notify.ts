import { pause } from '../../client/pause.ts';
import { logError } from '../consumers/drain.ts';
import type { AlarmNamespace, Bindings } from '../env.ts';
import { NOTIFY_ALARM_MS } from '../timeouts.ts';
import type { Hub } from '../waiting/hub.ts';

/** One message covers all requests within this time, or within the shorter one while calls wait. */
const QUIET_MS = 500;
const BUSY_MS = 20;

/** If the invocation that is to send a message is killed, the next one sends it after this time. */
const LATE_MS = 1000;

/** A moved or overloaded object recovers soon, and a Worker has 30 s after its response. */
const RETRY_MS = [100, 500, 2000, 8000];

/** A message to the object: what may have changed (null: anything), and which changes are passed on to other calls. */
export type Message = { changed: readonly string[] | null; passOn: readonly string[] };

const objectOf = (ALARM: AlarmNamespace) => ALARM.get(ALARM.idFromName('tock') as never);

/** Where calls wait in the Durable Object. */
export const alarmHub = (ALARM: AlarmNamespace): Hub => ({
  async next(names, since, ms, signal) {
    const body = JSON.stringify({ names, since, ms });
    const answer = await objectOf(ALARM).fetch('https://alarm/wait', {
      method: 'POST',
      body,
      signal,
    });
    return answer.json();
  },
});

/** Tells the Durable Object that work may be due before its alarm, and wakes calls that wait in it; retries on failure. */
export function alarmNotifier() {
  let changed: Set<string> | null = new Set();
  let passOn = new Set<string>();
  /** Until then another invocation is to send what has been collected. */
  let collected_until = Number.NEGATIVE_INFINITY;
  let next_at = Number.NEGATIVE_INFINITY;
  let interval_ms = QUIET_MS;

  function take(): string {
    const message = { changed: changed && [...changed], passOn: [...passOn] };
    [changed, passOn] = [new Set(), new Set()];
    return JSON.stringify(message);
  }

  async function send(ALARM: AlarmNamespace, body: string): Promise<void> {
    for (const delay_ms of [...RETRY_MS, null]) {
      next_at = performance.now() + interval_ms;
      try {
        const signal = AbortSignal.timeout(NOTIFY_ALARM_MS);
        const answer = await objectOf(ALARM).fetch('https://alarm/', {
          method: 'POST',
          body,
          signal,
        });
        const { waiting } = (await answer.json()) as { waiting: boolean };
        interval_ms = waiting ? BUSY_MS : QUIET_MS;
        if (waiting) next_at = performance.now() + BUSY_MS;
        return;
      } catch (error) {
        // A call during the pause notifies too.
        next_at = Number.NEGATIVE_INFINITY;
        if (delay_ms === null) {
          logError(error);
          // The names are lost: the next message tells of anything.
          changed = null;
        } else await pause(delay_ms);
      }
    }
  }

  return async ({ ALARM }: Bindings, message: Message): Promise<void> => {
    if (!ALARM) return;
    if (message.changed === null) changed = null;
    else for (const name of message.changed) changed?.add(name);
    for (const name of message.passOn) passOn.add(name);
    const now = performance.now();
    if (now < collected_until) return;
    if (now < next_at) {
      collected_until = next_at + LATE_MS;
      // The answer to a message that is under way may bring the next one forward.
      while (performance.now() < next_at)
        await pause(Math.min(BUSY_MS, next_at - performance.now()));
      collected_until = Number.NEGATIVE_INFINITY;
    }
    await send(ALARM, take());
  };
}
