import { beforeAll, beforeEach, expect, test } from 'vitest';
import { payloadTasks } from '../client/service.ts';
import { there, useConsumerWorker } from '../consumers/served.ts';
import { idle } from './idle.ts';

useConsumerWorker({ alarm: true });
let claims = 0;
let looks = 0;

beforeAll(() => {
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

const waitUntilIdle = () => idle(() => claims + looks);
const claim = (queue: string) => there.tock.claim(queue, { wait_seconds: 30 });

test('calls wait in the Durable Object: the database is left alone until an enqueue', async () => {
  const waiting = Array.from({ length: 50 }, () => claim('pull'));
  await waitUntilIdle();
  // Polling each 20 ms would need 2,500 a second.
  expect(claims).toBeLessThan(200);
  const ids = await there.tock.enqueueMany('pull', payloadTasks(50));
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
