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

test('an early notification is for one wait, and each of several for another', async () => {
  const url = await serveAt('/turns', async (context) => {
    await context.sleep('nap', 60);
    for (const step of ['first', 'second', 'third']) {
      const { eventData } = await context.waitForEvent(step, 'turn', { timeout: '1d' });
      await context.run(`after ${step}`, () => void got.push(eventData));
    }
  });
  const { workflowRunId } = await client.trigger({ url });
  await world.deliver();
  const notify = (eventData: unknown) =>
    client.notify({ eventId: 'turn', eventData, workflowRunId });
  expect(await notify(1)).toEqual([]);
  expect(await notify(2)).toEqual([]);
  await world.deliverLater();
  expect(got.splice(0)).toEqual([1, 2]);
  expect(await client.getWaiters({ eventId: 'turn' })).toHaveLength(1);
  expect(await notify(3)).toHaveLength(1);
  await world.deliver();
  expect(got.splice(0)).toEqual([3]);
});

test('a wait that is repeated after a lost answer takes no second notification', async () => {
  const url = await serveAt('/repeated', (context) => context.sleep('nap', 60));
  const { workflowRunId } = await client.trigger({ url });
  await world.deliver();
  for (const eventData of [1, 2])
    await client.notify({ eventId: 'repeated', eventData, workflowRunId });
  const wait = async (stepId: number) => {
    const step = { stepId, stepName: `${stepId}`, stepType: 'Wait', concurrent: 1 };
    const body = JSON.stringify({ url, timeout: '1d', timeoutUrl: url, step });
    const headers = { 'Upstash-Workflow-RunId': workflowRunId };
    expect((await world.send('POST /v2/wait/repeated', { headers, body })).status).toBe(200);
    const steps = await world.send(`GET /v2/workflows/runs/${workflowRunId}`);
    return JSON.parse(steps.text)
      .map(({ body: text }: { body: string }) => JSON.parse(atob(text) || 'null'))
      .filter((one: { waitEventId?: string } | null) => one?.waitEventId === 'repeated')
      .map(({ stepId: id, out }: { stepId: number; out: string }) => [id, atob(out)]);
  };
  expect(await wait(2)).toEqual([[2, '1']]);
  expect(await wait(2)).toEqual([[2, '1']]);
  expect(await wait(3)).toEqual([
    [2, '1'],
    [3, '2'],
  ]);
  await client.cancel(workflowRunId);
});

test('data that is too large for so many waiters is refused, and none gets it', async () => {
  const url = await waiting('/crowd', 'crowd');
  const count = 14;
  await client.trigger(Array.from({ length: count }, () => ({ url })));
  await world.deliver();
  const { status, text } = await world.send('POST /v2/notify/crowd', {
    body: 'x'.repeat(4_900_000),
  });
  expect([status, text]).toEqual([422, expect.stringContaining(`${count} steps`)]);
  expect(await client.getWaiters({ eventId: 'crowd' })).toHaveLength(count);
  await client.cancel({ all: true });
});
