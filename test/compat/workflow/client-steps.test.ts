import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

test('a flow of several steps runs each step once, with the results of those before', async () => {
  const log: unknown[] = [];
  const url = await serveAt<{ order: number }>('/steps', async (context) => {
    const { order } = context.requestPayload;
    const price = await context.run('price', () => {
      log.push(['price', order, context.headers.get('x-user')]);
      return { cents: order * 100 };
    });
    const paid = await context.run('pay', () => {
      log.push(['pay', price]);
      return `paid ${price.cents}`;
    });
    await context.run('mail', () => void log.push(['mail', paid]));
    return { paid };
  });
  const { workflowRunId } = await client.trigger({
    url,
    body: { order: 7 },
    headers: { 'x-user': 'ann' },
    workflowRunId: 'seven',
  });
  expect(workflowRunId).toBe('wfr_seven');
  await world.deliver();
  expect(log).toEqual([
    ['price', 7, 'ann'],
    ['pay', { cents: 700 }],
    ['mail', 'paid 700'],
  ]);
  expect(world.at('/steps').map(({ verified }) => verified)).toEqual([true, true, true, true]);
});

test('a message to the endpoint starts a run, and flow control limits all its deliveries', async () => {
  const log: string[] = [];
  const url = await serveAt<string>('/plain', async (context) => {
    const [a, b] = await Promise.all([
      context.run('a', () => `a ${context.requestPayload}`),
      context.run('b', () => 'b'),
    ]);
    await context.run('end', () => void log.push(a, b));
  });
  await world.qstash.publish({ url, body: 'plain' });
  await world.deliver();
  expect(log.splice(0)).toEqual(['a plain', 'b']);
  const flowControl = { key: 'one', parallelism: 1 };
  await client.trigger({ url, body: 'limited', flowControl });
  const tasks = async () => (await world.tock.send('GET /v1/tasks?queue=qstash')).body.tasks;
  const before = new Set((await tasks()).slice(1).map(({ id }: { id: string }) => id));
  await world.deliver();
  expect(log.splice(0)).toEqual(['a limited', 'b']);
  const own = (await tasks()).filter(({ id }: { id: string }) => !before.has(id));
  const sent = [];
  for (const { id } of own) {
    const { options, payload } = (await world.tock.send(`GET /v1/tasks/${id}`)).body;
    const isSent = !['event', 'end'].includes(payload.qstash.workflow.kind);
    if (isSent) sent.push(options.concurrency_key);
  }
  expect(new Set(sent)).toEqual(new Set(['one']));
  expect(sent.length).toBe(6);
});

test('a step is four statements, and so are the plans of parallel steps', async () => {
  const url = await serveAt('/counted', (context) => context.sleep('nap', 60));
  const { workflowRunId: run } = await client.trigger({ url });
  await world.deliver();
  const plan = (targetStep: number) => ({
    destination: url,
    headers: { 'Upstash-Workflow-RunId': run },
    body: JSON.stringify({ stepId: 0, targetStep, stepName: 'a', concurrent: 3 }),
  });
  world.tock.statements.length = 0;
  const body = JSON.stringify([2, 3, 4].map(plan));
  expect((await world.send('POST /v2/batch', { body })).status).toBe(200);
  expect(world.tock.statements).toHaveLength(4);
  await client.cancel(run);
});

test('the statement of a delivery is so cheap for the planner that PostgreSQL does not compile it', async () => {
  const { statements, owner } = world.tock;
  statements.length = 0;
  await client.trigger({ url: await serveAt('/cheap', async () => {}) });
  await world.deliver();
  const text = statements.find((one) => one.text.includes('tock.children('))?.text;
  const values = ['1', '0', 'qstash', null, 'x', 1];
  const { rows } = await owner.query(`explain (format json) ${text}`, values);
  const { rows: settings } = await owner.query('show jit_above_cost');
  const [{ Plan: plan }] = rows[0]['QUERY PLAN'];
  expect(plan['Total Cost']).toBeLessThan(Number(settings[0].jit_above_cost));
});
