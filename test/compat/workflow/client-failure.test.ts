import { WorkflowNonRetryableError, WorkflowRetryAfterError } from '@upstash/workflow';
import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

const logOf = async (workflowRunId: string) => (await client.logs({ workflowRunId })).runs[0];

test('a step that fails is tried again, and the steps before it are not', async () => {
  const log: string[] = [];
  const url = await serveAt('/retried', async (context) => {
    await context.run('first', () => void log.push('first'));
    await context.run('second', () => {
      log.push(`second ${context.retried}`);
      if (context.retried < 2) throw new Error('not yet');
    });
  });
  const { workflowRunId } = await client.trigger({ url, retries: 2, retryDelay: '30000' });
  await world.deliver();
  expect(await logOf(workflowRunId)).toMatchObject({
    workflowState: 'RUN_STARTED',
    steps: [
      { type: 'sequential', steps: [{ stepName: 'init' }] },
      { type: 'sequential', steps: [{ stepName: 'first', state: 'STEP_SUCCESS' }] },
      { type: 'next', steps: [{ state: 'STEP_RETRY', retries: 2 }] },
    ],
  });
  await world.deliverLater();
  await world.deliverLater();
  expect(log).toEqual(['first', 'second 0', 'second 1', 'second 2']);
  expect(await logOf(workflowRunId)).toMatchObject({ workflowState: 'RUN_SUCCESS' });
});

test('a run whose retries are used up calls its failure function once, with the payload of the run', async () => {
  const failures: unknown[] = [];
  const url = await serveAt<{ order: number }>(
    '/failing',
    async (context) => {
      await context.run('fine', () => 1);
      await context.run('bad', () => {
        throw new Error('out of stock');
      });
    },
    {
      failureFunction: async ({ context, failStatus, failResponse }) => {
        const { workflowRunId, requestPayload, headers } = context;
        failures.push([
          workflowRunId,
          requestPayload,
          headers.get('x-user'),
          failStatus,
          failResponse,
        ]);
      },
    },
  );
  const headers = { 'x-user': 'ann' };
  const { workflowRunId } = await client.trigger({ url, body: { order: 7 }, headers, retries: 1 });
  await world.deliver();
  expect(failures).toEqual([]);
  await world.deliverLater();
  await world.deliver();
  expect(failures).toEqual([[workflowRunId, { order: 7 }, 'ann', 500, 'out of stock']]);
  expect(await logOf(workflowRunId)).toMatchObject({
    workflowState: 'RUN_FAILED',
    dlqId: expect.any(String),
    failureFunction: { state: 'CALLBACK_SUCCESS' },
  });
});

test('an error that forbids retries fails the run at once, and one with a time is tried again then', async () => {
  const url = await serveAt('/final', async (context) => {
    await context.run('bad', () => {
      throw new WorkflowNonRetryableError('never');
    });
  });
  const { workflowRunId } = await client.trigger({ url });
  await world.deliver();
  expect(await logOf(workflowRunId)).toMatchObject({ workflowState: 'RUN_FAILED' });
  const later = await serveAt('/later', async (context) => {
    await context.run('busy', () => {
      if (context.retried === 0) throw new WorkflowRetryAfterError('busy', 90);
    });
  });
  const busy = await client.trigger({ url: later });
  await world.deliver();
  const { body } = await world.tock.send('GET /v1/tasks?queue=qstash&state=waiting');
  expect((Date.parse(body.tasks[0].run_at) - Date.now()) / 1000).toBeCloseTo(90, -1);
  await world.deliverLater();
  expect(await logOf(busy.workflowRunId)).toMatchObject({ workflowState: 'RUN_SUCCESS' });
});

test('a failure of the database before the only attempt does not end the run', async () => {
  const log: string[] = [];
  const url = await serveAt('/read', async (context) => {
    await context.run('only', () => void log.push('only'));
  });
  const { workflowRunId } = await client.trigger({ url, retries: 0 });
  world.tock.loseAnswer('tock.children');
  await world.deliver();
  expect(log).toEqual(['only']);
  expect(await logOf(workflowRunId)).toMatchObject({ workflowState: 'RUN_SUCCESS' });
});

test('a run whose steps are too large for one delivery fails, and its failure URL learns why', async () => {
  const [url, failureUrl] = [world.on('/large', 200), world.on('/too-large', 200)];
  const { workflowRunId } = await client.trigger({ url, failureUrl, retryDelay: '0' });
  const headers = { 'Upstash-Workflow-RunId': workflowRunId };
  const out = 'x'.repeat(3_000_000);
  for (const stepId of [1, 2, 3]) {
    const body = JSON.stringify({ stepId, stepName: `${stepId}`, concurrent: 1, out });
    expect((await world.send(`POST /v2/publish/${url}`, { headers, body })).status).toBe(201);
  }
  for (let n = 0; n < 10 && world.at('/too-large').length === 0; n++) await world.deliverLater();
  const { body } = JSON.parse(world.at('/too-large')[0]?.body ?? '{}');
  expect(atob(body)).toContain('more than 8388608 bytes');
  expect(await logOf(workflowRunId)).toMatchObject({ workflowState: 'RUN_FAILED' });
  const sizes = world.at('/large').map((delivery) => delivery.body.length);
  expect(Math.max(...sizes)).toBeLessThan((8_388_608 * 4) / 3);
});

test('a run whose message alone is cancelled or has expired has not succeeded', async () => {
  const url = await serveAt('/silent', (context) => context.sleep('nap', 60));
  const cancelled = await client.trigger({ url, delay: '1h', label: 'cancelled' });
  const expired = await client.trigger({ url, delay: '1h' });
  expect(await logOf(cancelled.workflowRunId)).toMatchObject({ workflowState: 'RUN_STARTED' });
  const filter = { label: 'cancelled' };
  await world.qstash.messages.cancel({ filter });
  await world.tock.owner.query(
    `update tock.waiting set options = coalesce(options, '{}') || jsonb_build_object('expires_at', now())
     where queue = 'qstash' and payload::jsonb #>> '{qstash,workflow,run}' = $1`,
    [expired.workflowRunId],
  );
  expect(await logOf(cancelled.workflowRunId)).toMatchObject({ workflowState: 'RUN_CANCELED' });
  expect(await logOf(expired.workflowRunId)).toMatchObject({ workflowState: 'RUN_FAILED' });
});

test('a run whose dead letter is deleted stays a failed one', async () => {
  const url = await serveAt('/deleted', async (context) => {
    await context.run('fine', () => 1);
    await context.run('bad', () => {
      throw new Error('bad');
    });
  });
  const { workflowRunId } = await client.trigger({ url, retries: 0, label: 'deleted' });
  await world.deliver();
  await client.dlq.delete({ filter: { label: 'deleted' } });
  expect(await logOf(workflowRunId)).toMatchObject({ workflowState: 'RUN_FAILED' });
});
