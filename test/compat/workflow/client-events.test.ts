import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

const got: unknown[] = [];
const waiting = (path: string, event: string) =>
  serveAt(path, async (context) => {
    const { eventData, timeout } = await context.waitForEvent('wait', event, { timeout: '1d' });
    await context.run('end', () => void got.push({ eventData, timeout }));
  });

test('a notify wakes all runs that wait for the event, with its data, and none that waits later', async () => {
  const url = await waiting('/two', 'orders/7/é paid');
  const runs = [await client.trigger({ url }), await client.trigger({ url })];
  await world.deliver();
  const waiters = await client.getWaiters({ eventId: 'orders/7/é paid' });
  expect(waiters).toHaveLength(2);
  expect(waiters[0]).toMatchObject({ url, deadline: expect.any(Number) });
  expect(waiters[0]?.deadline).toBeCloseTo(Date.now() / 1000 + 86_400, -2);
  const notified = await client.notify({
    eventId: 'orders/7/é paid',
    eventData: { cents: 5, by: 'Zoë' },
  });
  expect(notified).toMatchObject([
    { error: '', waiter: { url } },
    { error: '', waiter: { url } },
  ]);
  await world.deliver();
  const woken = { eventData: { cents: 5, by: 'Zoë' }, timeout: false };
  expect(got.splice(0)).toEqual([woken, woken]);
  expect(await client.getWaiters({ eventId: 'orders/7/é paid' })).toEqual([]);
  expect(await client.notify({ eventId: 'orders/7/é paid' })).toEqual([]);
  await world.deliverLater();
  expect(got).toEqual([]);
  const { runs: logs } = await client.logs({ workflowRunId: runs[0]?.workflowRunId ?? '' });
  expect(logs).toMatchObject([{ workflowState: 'RUN_SUCCESS' }]);
  await client.trigger({ url });
  await world.deliver();
  expect(await client.getWaiters({ eventId: 'orders/7/é paid' })).toHaveLength(1);
  await client.cancel({ all: true });
});

test('a wait that is not notified in time goes on without data', async () => {
  await client.trigger({ url: await waiting('/late', 'never') });
  await world.deliver();
  await world.deliverLater();
  expect(got.splice(0)).toEqual([{ eventData: undefined, timeout: true }]);
  expect(await client.notify({ eventId: 'never', eventData: 1 })).toEqual([]);
});

test('a run that is notified by its id finds the event also if it waits later', async () => {
  const url = await serveAt('/lookback', async (context) => {
    await context.sleep('nap', 60);
    const { eventData } = await context.waitForEvent('wait', 'orders/7/early', { timeout: '1d' });
    await context.run('end', () => void got.push(eventData));
  });
  const { workflowRunId } = await client.trigger({ url });
  const other = await client.trigger({ url });
  await world.deliver();
  await client.notify({ eventId: 'orders/7/early', eventData: 'now', workflowRunId });
  await world.deliverLater();
  expect(got.splice(0)).toEqual(['now']);
  const [waiter] = await client.notify({
    eventId: 'orders/7/early',
    eventData: 'then',
    workflowRunId: other.workflowRunId,
  });
  expect(waiter).toMatchObject({ workflowRunId: other.workflowRunId });
  await world.deliver();
  expect(got.splice(0)).toEqual(['then']);
});

test('a workflow notifies another one', async () => {
  await client.trigger({ url: await waiting('/woken', 'from another') });
  await world.deliver();
  const url = await serveAt('/notifier', async (context) => {
    const { notifyResponse } = await context.notify('tell', 'from another', { from: 'me' });
    await context.run('end', () => void got.push(notifyResponse.length));
  });
  await client.trigger({ url });
  await world.deliver();
  expect(got.splice(0)).toContainEqual(1);
});
