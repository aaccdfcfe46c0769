import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { type ConsumerWorker, startConsumerWorker } from '../consumers/served.ts';
import { conditionTimeout } from '../timeout.ts';

const storage = mkdtempSync(join(tmpdir(), 'tock-waiting-'));
let there: ConsumerWorker;
let claims = 0;
let looks = 0;

beforeAll(async () => {
  there = await startConsumerWorker(storage);
  await there.start();
  there.proxy.hears = {
    sent: (text) => {
      if (text.includes('http_claim')) claims++;
      if (text.includes('tock.task(')) looks++;
    },
  };
});
beforeEach(() => {
  [claims, looks] = [0, 0];
});
afterAll(async () => {
  await there?.close();
  rmSync(storage, { recursive: true, force: true });
});

/** Waits until nobody has asked the database for a while. */
async function waitUntilIdle() {
  let before = -1;
  await vi.waitUntil(
    () => {
      const now = claims + looks;
      const idle = now === before && now > 0;
      before = now;
      return idle;
    },
    { timeout: conditionTimeout, interval: 700 },
  );
}

const claim = (queue: string) => there.tock.claim(queue, { wait_seconds: 30 });

test('calls wait in the Durable Object: the database is left alone until an enqueue', async () => {
  const waiting = Array.from({ length: 50 }, () => claim('pull'));
  await waitUntilIdle();
  // Polling each 20 ms would need 2,500 a second.
  expect(claims).toBeLessThan(200);
  const ids = await there.tock.enqueueMany(
    'pull',
    Array.from({ length: 50 }, (_, payload) => ({ payload })),
  );
  const leases = await Promise.all(waiting);
  expect(leases.map((lease) => lease?.tasks[0]?.id).sort()).toEqual(ids.sort());
});

test('the end of a task wakes the call that waits for it', async () => {
  const id = await there.tock.enqueue('ends', 1);
  const lease = await claim('ends');
  const look = there.tock.task(id, { wait_seconds: 30 });
  await waitUntilIdle();
  await lease?.complete();
  expect((await look)?.state).toBe('done');
});

test('a delayed task wakes a claim when the alarm makes it ready', async () => {
  const waiting = claim('delayed');
  await waitUntilIdle();
  await there.tock.enqueue('delayed', 1, { delay_seconds: 3 });
  expect((await waiting)?.tasks).toHaveLength(1);
});

test('after a restart of the Worker claims wait and are woken as before', async () => {
  const lost = claim('again').catch(() => 'lost');
  await waitUntilIdle();
  await there.kill();
  expect(await lost).toBe('lost');
  await there.start();
  const waiting = claim('again');
  await waitUntilIdle();
  await there.tock.enqueue('again', 2);
  expect((await waiting)?.tasks).toMatchObject([{ payload: 2 }]);
});
