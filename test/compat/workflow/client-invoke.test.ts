import { createWorkflow, serveMany } from '@upstash/workflow/cloudflare';
import { beforeAll, expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { answer, client, useWorkflow } from './world.ts';

useWorkflow();

const got: unknown[] = [];
let url: string;

const child = createWorkflow(async (context) => {
  const { n } = context.requestPayload as { n: number };
  if (n === -2) await context.sleep('before', 60);
  const square = await context.run('square', () => {
    if (n < 0) throw new Error('negative');
    return n * n;
  });
  await context.sleep('nap', n > 99 ? 3600 : 0);
  return { square, from: context.headers.get('x-own') };
}, {});
const parent = createWorkflow(async (context) => {
  const { n } = context.requestPayload as { n: number };
  const settings = {
    workflow: child,
    headers: { 'x-own': 'v' },
    retries: 0,
    workflowRunId: `c${n}`,
  };
  const [single, fixed] = [
    await context.invoke('square', { ...settings, body: { n } }),
    await Promise.all([
      context.invoke('three', { ...settings, body: { n: 3 }, workflowRunId: `three${n}` }),
      context.run('beside', () => 'beside'),
    ]),
  ];
  await context.run('end', () => void got.push(single, fixed[0].body, fixed[1]));
}, {});

beforeAll(async () => {
  const { current, next } = await world.keys();
  // The two variables, and the keys that verify deliveries.
  const env = {
    QSTASH_URL: world.url,
    QSTASH_TOKEN: world.tock.key,
    QSTASH_CURRENT_SIGNING_KEY: current,
    QSTASH_NEXT_SIGNING_KEY: next,
  };
  const { fetch } = serveMany({ parent, child });
  for (const path of ['/many/parent', '/many/child'])
    world.on(
      path,
      (response, delivery) => void answer((request) => fetch(request, env), delivery, response),
    );
  url = `${world.receiver}/many/parent`;
});

test('a workflow invokes another one and goes on with its result', async () => {
  await client.trigger({ url, body: { n: 7 } });
  await world.deliver();
  expect(got.splice(0)).toEqual([
    { workflowRunId: 'wfr_c7', body: { square: 49, from: 'v' } },
    { square: 9, from: 'v' },
    'beside',
  ]);
  expect(world.got.every(({ verified }) => verified)).toBe(true);
});

test('a workflow learns of the failure or the cancel of the one that it invokes', async () => {
  await client.trigger({ url, body: { n: -1 } });
  await world.deliver();
  expect(got.splice(0)[0]).toMatchObject({ workflowRunId: 'wfr_c-1', isFailed: true });
  await client.trigger({ url, body: { n: 100 } });
  await world.deliver();
  expect(await client.cancel('wfr_c100')).toEqual({ cancelled: 1 });
  await world.deliver();
  expect(got.splice(0)[0]).toMatchObject({ workflowRunId: 'wfr_c100', isCanceled: true });
});

test('a failed run whose invoker is gone keeps its own error', async () => {
  const { workflowRunId } = await client.trigger({ url, body: { n: -2 }, retries: 0 });
  await world.deliver();
  const key = encodeURIComponent(`qstash run ${workflowRunId}`);
  const { body } = await world.tock.send(`GET /v1/tasks?queue=qstash&unique_key=${key}`);
  await world.tock.send(`DELETE /v1/tasks/${body.tasks[0].id}/payload`);
  await world.deliverLater();
  const { messages } = await client.dlq.list({ filter: { workflowRunId: 'wfr_c-2' } });
  expect(messages).toMatchObject([{ responseStatus: 500 }]);
  expect(messages[0]?.responseBody).toContain('negative');
});
