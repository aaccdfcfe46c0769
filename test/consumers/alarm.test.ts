import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { patience } from '../patience.ts';
import { type Consuming, consumingWorker } from './served.ts';

const storage = mkdtempSync(join(tmpdir(), 'tock-alarm-'));
let there: Consuming;
/** Connections that reached the database: each is a wake. */
let wakes = 0;

beforeAll(async () => {
  there = await consumingWorker(storage);
  await there.start();
});
beforeEach(async () => {
  there.proxy.hears = { connected: () => wakes++ };
  there.told.length = 0;
});
afterAll(async () => {
  await there?.close();
  rmSync(storage, { recursive: true, force: true });
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Wakes while nobody calls. */
async function wakesIn(ms: number): Promise<number> {
  const before = wakes;
  await sleep(ms);
  return wakes - before;
}

/** When nothing has woken the database since the time in which a ring would have followed. */
async function quiet(): Promise<void> {
  while ((await wakesIn(1200)) > 0);
}

/** Seconds from a call to a handler's start. */
async function begun(id: string, from: number): Promise<number> {
  await vi.waitUntil(() => there.told.includes(`/quick/${id}`), { timeout: patience, interval: 5 });
  return (performance.now() - from) / 1000;
}

test('a database with nothing to do is left to sleep, after a look at what was done', async () => {
  const before = wakes;
  await begun(await there.tock.enqueue('quick', 1), 0);
  // The enqueue, whose connection its drain goes on with, and a ring or two.
  await vi.waitUntil(() => wakes - before >= 2, { timeout: patience });
  await quiet();
  expect(wakes - before).toBeLessThan(10);
});

test('a delayed task is begun at its second, for one wake', async () => {
  const from = performance.now();
  const id = await there.tock.enqueue('quick', 1, { delay_seconds: 10 });
  await quiet();
  const before = wakes;
  const seconds = await begun(id, from);
  expect(seconds).toBeGreaterThanOrEqual(10);
  expect(wakes - before).toBeLessThanOrEqual(1);
});

test('what is due sooner than the alarm moves it forward', async () => {
  const late = await there.tock.enqueue('quick', 1, { delay_seconds: 3600 });
  await quiet();
  const from = performance.now();
  const id = await there.tock.enqueue('quick', 1, { delay_seconds: 2 });
  expect(await begun(id, from)).toBeGreaterThanOrEqual(2);
  expect(there.told).not.toContain(`/quick/${late}`);
});

test('a schedule wakes the database once for each time that it fires', async () => {
  await there.tock.call('PUT', '/v1/schedules/often', { queue: 'quick', every_seconds: 2 });
  const fires = (count: number) => () => there.told.length >= count;
  await vi.waitUntil(fires(1), { timeout: patience });
  await sleep(1100);
  const [before, fired] = [wakes, there.told.length];
  await vi.waitUntil(fires(fired + 2), { timeout: patience });
  expect(wakes - before).toBe(there.told.length - fired);
  await there.tock.call('DELETE', '/v1/schedules/often');
});

test('a Worker that is killed keeps its alarm', async () => {
  const from = performance.now();
  const id = await there.tock.enqueue('quick', 1, { delay_seconds: 10 });
  await quiet();
  await there.kill();
  await there.start();
  const seconds = await begun(id, from);
  expect(seconds).toBeGreaterThanOrEqual(10);
});
