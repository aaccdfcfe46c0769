import { Client } from '@upstash/workflow';
import { serve } from '@upstash/workflow/cloudflare';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../../database.ts';
import { env, there, useReceiver } from '../../push/receiver.ts';
import { value } from '../../sql/verbs.ts';
import { conditionTimeout } from '../../timeout.ts';
import { type Served, serveBundle } from '../../worker/workerd.ts';

useReceiver();
let database: Database;
let served: Served;
let token: string;

beforeAll(async () => {
  database = await freshDatabase();
  const owner = await database.connect();
  token = await value(owner, "select key from tock.create_key('k', '{enqueue,read,admin}')");
  served = await serveBundle((await bundle()).code, {
    DATABASE_URL: database.poolUrl ?? database.edgeUrl,
    TOCK_COMPAT: 'qstash',
    ...env,
  });
});
afterAll(async () => {
  await served?.stop();
  await database?.drop();
});

test('in workerd a workflow does its steps, calls, waits for an event and ends', async () => {
  const client = new Client({ baseUrl: served.url, token, retry: false });
  const { fetch } = serve(async (context) => {
    const first = await context.run('first', () => 1);
    const [b, c] = await Promise.all([
      context.run('b', () => first + 1),
      context.call('c', { url: `${there.url}/api` }),
    ]);
    const { eventData } = await context.waitForEvent('go', 'go', { timeout: '1h' });
    return [first, b, c.body, eventData];
  });
  const variables = { QSTASH_URL: served.url, QSTASH_TOKEN: token };
  const url = there.on('/flow', async (response, { method, headers, body }) => {
    const all = Object.entries(headers).map(([name, text]): [string, string] => [name, `${text}`]);
    const request = new Request(`${there.url}/flow`, { method, headers: all, body });
    const answered = await fetch(request, variables);
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.end(await answered.text());
  });
  const { workflowRunId } = await client.trigger({ url });
  const wait = { timeout: conditionTimeout };
  const waiters = () => client.getWaiters({ eventId: 'go' });
  await expect.poll(waiters, wait).toHaveLength(1);
  await client.notify({ eventId: 'go', eventData: 'gone' });
  const log = async () => (await client.logs({ workflowRunId })).runs[0];
  await expect.poll(async () => (await log())?.workflowState, wait).toBe('RUN_SUCCESS');
  expect(JSON.parse((await log())?.workflowRunResponse ?? '')).toEqual([
    1,
    2,
    { ok: true },
    'gone',
  ]);
});
