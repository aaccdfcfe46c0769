import { beforeEach, expect, test, vi } from 'vitest';
import { conditionTimeout } from '../timeout.ts';
import { there, useConsumerWorker } from './served.ts';

useConsumerWorker({ alarm: true });
/** Number of connections to the database. Each one would wake a sleeping database. */
let wakes = 0;

beforeEach(() => {
  there.proxy.hears = {
    connected: () => wakes++,
    answered: (text) => {
      if (/http_enqueue|put_schedule/.test(text)) hasRung = false;
    },
    sent: (text) => {
      if (text.includes('tock.tick()')) hasRung = true;
    },
  };
});

/** True if the alarm has ticked since the last notification. */
let hasRung = false;

/** Waits until the task's handler starts. Returns the seconds since `from`. */
async function begun(id: string, from: number): Promise<number> {
  const timing = { timeout: conditionTimeout, interval: 5 };
  await vi.waitUntil(() => there.reports.includes(`/quick/${id}`), timing);
  return (performance.now() - from) / 1000;
}

/** Waits for a call, and until the alarm has fired for it. */
async function rung<T>(call: Promise<T>): Promise<T> {
  const answer = await call;
  await vi.waitUntil(() => hasRung, { timeout: conditionTimeout });
  return answer;
}

const delayed = (delay_seconds: number) => there.tock.enqueue('quick', 1, { delay_seconds });

test('the alarm does not wake an idle database before a delayed task is due', async () => {
  await begun(await there.tock.enqueue('quick', 1), 0);
  const [from, before] = [performance.now(), wakes];
  expect(await begun(await delayed(20), from)).toBeGreaterThanOrEqual(20);
  // Connections: the enqueue, one or two alarms for each call, and the task's own alarm. Polling each second would need
  // twice as many.
  expect(wakes - before).toBeLessThan(10);
});

test('a task that is due before the alarm sets an earlier alarm', async () => {
  const late = await rung(delayed(3600));
  const from = performance.now();
  expect(await begun(await delayed(2), from)).toBeGreaterThanOrEqual(2);
  expect(there.reports).not.toContain(`/quick/${late}`);
});

test('a schedule wakes the database once for each time that it fires', async () => {
  const often = { queue: 'quick', every_seconds: 2 };
  await rung(there.tock.call('PUT', '/v1/schedules/often', often));
  const before = wakes;
  await vi.waitUntil(() => there.reports.length >= 8, { timeout: conditionTimeout });
  // The margin is for alarms of earlier notifications. Polling each second would need twice as many connections.
  expect(wakes - before).toBeLessThan(there.reports.length + 4);
  await there.tock.call('DELETE', '/v1/schedules/often');
});

test('a Worker that is killed keeps its alarm', async () => {
  const from = performance.now();
  const id = await rung(delayed(10));
  await there.kill();
  await there.start();
  expect(await begun(id, from)).toBeGreaterThanOrEqual(10);
});
