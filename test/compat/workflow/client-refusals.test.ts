import { expect, test } from 'vitest';
import { injections } from '../../fuzz/hostile_values.ts';
import { rowCounts } from '../../http/service.ts';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

const counts = async () => {
  const { keys: _keys, ...rest } = await rowCounts(world.tock.owner);
  return rest;
};

/** The headers and the body of a step, as serve() sends them. */
const step = (run: string, body: unknown, headers: Record<string, string> = {}) => ({
  headers: { 'Upstash-Workflow-RunId': run, 'Upstash-Workflow-Init': 'false', ...headers },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const result = (stepId: number, more = {}) => ({
  stepId,
  stepName: `step ${stepId}`,
  stepType: 'Run',
  out: '1',
  concurrent: 1,
  ...more,
});

/** A run that sleeps. */
async function openRun(workflowRunId: string): Promise<{ url: string; run: string }> {
  const url = await serveAt('/open', async (context) => {
    await context.sleep('nap', 3600);
  });
  const { workflowRunId: run } = await client.trigger({ url, workflowRunId });
  await world.deliver();
  return { url, run };
}

test('hostile requests are refused with a reason, add nothing, and are no error of Tock', async () => {
  const { url, run } = await openRun('hostile');
  const before = await counts();
  const wait = { url, timeout: '1d', step: result(2) };
  const callTo = { 'Upstash-Workflow-CallType': 'toCallback' };
  const bad: [route: string, init: { headers?: Record<string, string>; body?: string }][] = [
    [`POST /v2/publish/${url}`, step(run, 'no JSON')],
    [`POST /v2/publish/${url}`, step(run, '[1]')],
    [`POST /v2/publish/${url}`, step(run, { ...result(2), stepId: -1 })],
    [`POST /v2/publish/${url}`, step(run, { ...result(2), concurrent: '2' })],
    [`POST /v2/publish/${url}`, step(run, result(2), { 'Upstash-Delay': 'soon' })],
    [`POST /v2/publish/${url}`, step(run, result(2), { 'Upstash-Cron': '* * * * *' })],
    [`POST /v2/publish/${url}`, step(run, result(2), callTo)],
    [`POST /v2/publish/${url}`, step(run, result(1001))],
    [`POST /v2/publish/${url}`, step(run, result(0, { targetStep: 1001, concurrent: 2 }))],
    [
      `POST /v2/publish/${url}`,
      step(run, '', {
        ...callTo,
        'Upstash-Callback': url,
        'Upstash-Callback-Forward-Upstash-Workflow-StepId': '1001',
      }),
    ],
    [`POST /v2/publish/ftp://a.example/x`, step(run, result(2))],
    [`POST /v2/publish/group`, step(run, result(2))],
    [`POST /v2/enqueue/mail/${url}`, step(run, result(2))],
    [`POST /v2/publish/${url}`, step('', result(2))],
    [`POST /v2/publish/${url}`, step('r'.repeat(201), result(2))],
    [
      `POST /v2/publish/${url}`,
      step('wfr_new', '{}', { 'Upstash-Workflow-Init': 'true', 'Upstash-Workflow-Invoke': 'true' }),
    ],
    ['POST /v2/wait/e', step(run, { ...wait, timeout: 'long' })],
    ['POST /v2/wait/e', step(run, { ...wait, step: {} })],
    ['POST /v2/wait/e', step(run, { ...wait, step: result(1001) })],
    ['POST /v2/wait/e', step(run, '')],
    [`POST /v2/wait/${'e'.repeat(201)}`, step(run, wait)],
    ['POST /v2/wait/%00', step(run, wait)],
    ['POST /v2/notify/%00', {}],
    [`POST /v2/notify/${run}/%00`, {}],
    ['GET /v2/waiters/%00', {}],
    ['GET /v2/workflows/events?workflowRunId=%00', {}],
    ['GET /v2/workflows/events?messageId=1', {}],
    ['DELETE /v2/workflows/runs?label=', {}],
    ['DELETE /v2/workflows/runs?unknown=1', {}],
    ['POST /v2/workflows/dlq/resume?dlqIds=1&label=x', {}],
  ];
  for (const [route, init] of bad) {
    const { status, text } = await world.send(route, init);
    expect([route, init.body, status, text]).toEqual([
      route,
      init.body,
      expect.toBeOneOf([400, 422]),
      text,
    ]);
    // A step that is refused with 400 would end its run in silence.
    if (route.startsWith('POST /v2/publish')) expect([route, init.body, status]).toContain(422);
    expect(text).toMatch(/^\{"error":"[^"]/);
  }
  for (const route of [
    'DELETE /v2/workflows/runs/wfr_none',
    'GET /v2/workflows/runs/wfr_none',
    'POST /v2/workflows/dlq/callback/1',
    'POST /v2/workflows/dlq/callback/x',
  ])
    expect([route, (await world.send(route)).status]).toEqual([route, 404]);
  const ended = await world.send(`POST /v2/publish/${url}`, step('wfr_none', result(1)));
  expect(ended.status).toBe(422);
  expect(await counts()).toEqual(before);
  for (const text of injections) {
    const name = encodeURIComponent(text);
    for (const route of [
      `POST /v2/notify/${name}`,
      `GET /v2/waiters/${name}`,
      `DELETE /v2/workflows/runs/${name}`,
    ])
      expect((await world.send(route, {})).status).toBeLessThan(500);
    expect((await world.send(`POST /v2/publish/${url}`, step(run, text))).status).toBe(422);
  }
  await client.cancel(run);
});

test('a batch with one bad step adds none', async () => {
  const { url, run } = await openRun('batch');
  const before = await counts();
  const { headers, body } = step(run, result(2));
  const messages = [
    { destination: url, headers, body },
    { destination: url, headers, body: '{}' },
  ];
  const { status } = await world.send('POST /v2/batch', { body: JSON.stringify(messages) });
  expect(status).toBe(422);
  expect(await counts()).toEqual(before);
  await client.cancel(run);
});

test('keys for other queues, with other scopes or unknown ones reach no run', async () => {
  const { url, run } = await openRun('keys');
  const other = await world.tock.makeKey(['enqueue', 'claim', 'read', 'admin'], ['qstash:own']);
  const reader = await world.tock.makeKey(['read']);
  const writer = await world.tock.makeKey(['enqueue']);
  const before = await counts();
  const calls: [route: string, init?: { headers?: Record<string, string>; body?: string }][] = [
    [`POST /v2/publish/${url}`, step(run, result(2))],
    ['POST /v2/wait/e', step(run, { url, timeout: '1d', step: result(2) })],
    ['POST /v2/notify/e'],
    [`POST /v2/notify/${run}/e`],
    ['GET /v2/waiters/e'],
    [`GET /v2/workflows/runs/${run}`],
    [`GET /v2/workflows/events?workflowRunId=${run}`],
    [`DELETE /v2/workflows/runs/${run}?cancel=true`],
    [`DELETE /v2/workflows/runs?workflowRunIds=${run}`],
    ['DELETE /v2/workflows/runs?count=10'],
  ];
  const statusOf = async (key: string, [route, init = {}]: (typeof calls)[number]) => {
    const headers = { ...init.headers, authorization: `Bearer ${key}` };
    return (await world.send(route, { ...init, headers })).status;
  };
  for (const call of calls) {
    expect([call[0], await statusOf(other, call)]).toEqual([call[0], 403]);
    expect([call[0], await statusOf('tock_nobody', call)]).toEqual([call[0], 401]);
    if (!call[0].startsWith('GET') && call[0] !== 'POST /v2/notify/e')
      expect([call[0], await statusOf(reader, call)]).toEqual([call[0], 403]);
  }
  expect(await statusOf(writer, calls[0] as (typeof calls)[number])).toBe(403);
  expect(await counts()).toEqual(before);
  await client.cancel(run);
});

test('the client shows that a run has too many steps', async () => {
  const { url, run } = await openRun('many');
  const { text } = await world.send(`POST /v2/publish/${url}`, step(run, result(1001)));
  expect(JSON.parse(text)).toEqual({ error: 'A workflow run has up to 1000 steps.' });
  expect((await world.send(`POST /v2/publish/${url}`, step(run, result(1000)))).status).toBe(201);
  await client.cancel(run);
});
