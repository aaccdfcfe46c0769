import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

/** The seconds until the only waiting task is due. */
async function secondsLeft(): Promise<number> {
  const { body } = await world.tock.send('GET /v1/tasks?queue=qstash&state=waiting');
  expect(body.tasks).toHaveLength(1);
  return (Date.parse(body.tasks[0].run_at) - Date.now()) / 1000;
}

test('a workflow sleeps for a time and until a time, without a delivery', async () => {
  const log: string[] = [];
  const until = Math.floor(Date.now() / 1000) + 5 * 3600;
  const url = await serveAt('/sleep', async (context) => {
    await context.run('before', () => void log.push('before'));
    await context.sleep('nap', '2h');
    await context.run('between', () => void log.push('between'));
    await context.sleepUntil('morning', until);
    await context.run('after', () => void log.push('after'));
  });
  await client.trigger({ url, delay: '10m' });
  await world.deliver();
  expect(await secondsLeft()).toBeCloseTo(600, -2);
  await world.deliverLater();
  expect(log).toEqual(['before']);
  expect(await secondsLeft()).toBeCloseTo(7200, -2);
  await world.deliverLater();
  expect(log).toEqual(['before', 'between']);
  expect(await secondsLeft()).toBeCloseTo(5 * 3600, -2);
  await world.deliverLater();
  expect(log).toEqual(['before', 'between', 'after']);
  expect(world.at('/sleep').every(({ verified }) => verified)).toBe(true);
});

test('a sleep beyond the retention of the queue is refused, since the run would be gone', async () => {
  const url = await serveAt('/long', async (context) => {
    await context.sleep('hibernate', '8d');
  });
  const { workflowRunId } = await client.trigger({ url, retries: 0 });
  await world.deliver();
  const { messages } = await client.dlq.list({ filter: { workflowRunId } });
  expect(messages[0]?.responseBody).toContain('retention_seconds');
  await world.tock.send('PUT /v1/queues/qstash', { body: { retention_seconds: 1_000_000 } });
  const again = await client.trigger({ url });
  await world.deliver();
  expect(await secondsLeft()).toBeCloseTo(8 * 86_400, -2);
  await client.cancel(again.workflowRunId);
});

test('a short sleep is compared with the retention too, and a wait is cut to it', async () => {
  await world.tock.send('PUT /v1/queues/qstash', { body: { retention_seconds: 3600 } });
  const sleep = (path: string, duration: '50m' | '2h') =>
    serveAt(path, (context) => context.sleep('nap', duration));
  const long = await client.trigger({ url: await sleep('/over', '2h'), retries: 0 });
  await world.deliver();
  const { messages } = await client.dlq.list({ filter: long });
  expect(messages[0]?.responseBody).toContain('retention_seconds');
  const short = await client.trigger({ url: await sleep('/under', '50m') });
  await world.deliver();
  expect(await secondsLeft()).toBeCloseTo(3000, -2);
  await client.cancel(short.workflowRunId);
  const url = await serveAt('/wait', (context) => context.waitForEvent('wait', 'e'));
  const wait = await client.trigger({ url });
  await world.deliver();
  expect(await secondsLeft()).toBeCloseTo(3240, -2);
  await client.cancel(wait.workflowRunId);
});
