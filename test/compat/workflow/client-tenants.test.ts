import { Client as QStash } from '@upstash/qstash';
import { Client } from '@upstash/workflow';
import { beforeAll, expect, test } from 'vitest';
import type { Claimed } from '../../../client/types.ts';
import { readRun } from '../../../functions/compat/workflow/deliver.ts';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

const keys: Record<string, string> = {};
const clientOf = (tenant: string) =>
  new Client({ baseUrl: world.url, token: keys[tenant] ?? '', retry: false });
const log: string[] = [];

/** A workflow whose endpoint has the key of a tenant. */
const serveFor = (tenant: string) =>
  serveAt(
    `/${tenant}`,
    async (context) => {
      const both = await Promise.all([
        context.run('a', () => 'a'),
        context.waitForEvent('b', 'go', { timeout: '1h' }),
      ]);
      await context.run('end', () => void log.push(`${tenant} ${both[1].eventData}`));
    },
    { qstashClient: new QStash({ baseUrl: world.url, token: keys[tenant] ?? '', retry: false }) },
  );

beforeAll(async () => {
  for (const tenant of ['a/c~me', 'other']) {
    const body = { name: tenant, scopes: ['enqueue', 'read'], tenants: [tenant] };
    keys[tenant] = (await world.tock.send('POST /v1/keys', { body })).body.key;
  }
  // A key for tenants prepares no queue.
  await world.qstash.publish({ url: world.on('/first', 200) });
});

test('runs of two tenants with the same id are two, and none reaches the other', async () => {
  const [acme, other] = [clientOf('a/c~me'), clientOf('other')];
  const workflowRunId = 'same';
  await acme.trigger({ url: await serveFor('a/c~me'), workflowRunId });
  await other.trigger({ url: await serveFor('other'), workflowRunId });
  await world.deliver();
  expect(await other.notify({ eventId: 'go', eventData: 1 })).toHaveLength(1);
  await world.deliver();
  expect(log.splice(0)).toEqual(['other 1']);
  expect((await other.logs()).runs).toMatchObject([{ workflowState: 'RUN_SUCCESS' }]);
  expect((await other.logs({ workflowRunId: 'wfr_same' })).runs).toMatchObject([
    { workflowUrl: `${world.receiver}/other` },
  ]);
  // Its timeout is added by Tock itself, and a later notify changes nothing.
  await world.deliverLater();
  expect(log.splice(0)).toEqual(['a/c~me undefined']);
  expect(await acme.notify({ eventId: 'go', eventData: 2 })).toEqual([]);
});

test('a key for all tenants notifies and cancels their runs', async () => {
  const acme = clientOf('a/c~me');
  const url = await serveFor('a/c~me');
  await acme.trigger({ url });
  await world.deliver();
  expect(await client.notify({ eventId: 'go', eventData: 3 })).toHaveLength(1);
  await world.deliver();
  expect(log.splice(0)).toEqual(['a/c~me 3']);
  await acme.trigger({ url });
  await world.deliver();
  expect(await clientOf('other').cancel({ all: true })).toEqual({ cancelled: 0 });
  expect(await client.cancel({ all: true })).toEqual({ cancelled: 1 });
  await world.deliverLater();
  expect(log).toEqual([]);
});

test('a payload that names the run of another gets none of its steps', async () => {
  await clientOf('a/c~me').trigger({ url: await serveFor('a/c~me'), body: 'secret' });
  const { body } = await world.tock.send('GET /v1/tasks?queue=qstash&state=ready');
  const [root] = body.tasks;
  const { payload } = (await world.tock.send(`GET /v1/tasks/${root.id}`)).body;
  const url = world.on('/thief', 200);
  const workflow = { ...payload.qstash.workflow, kind: 'step', root: root.id, step: '1' };
  const forged = (own: object) => ({
    payload: { qstash: { ...payload.qstash, url, workflow: { ...workflow, ...own } } },
    push_url: url,
    max_attempts: 1,
  });
  // Of another tenant with the nonce, and of the same one without it.
  const tasks = [
    { ...forged({}), tenant: 'other' },
    { ...forged({ nonce: 'guessed' }), tenant: 'a/c~me' },
  ];
  const { ids } = (await world.tock.send('POST /v1/queues/qstash/tasks', { body: { tasks } })).body;
  await world.deliver();
  expect(world.at('/thief')).toEqual([]);
  for (const id of ids)
    expect((await world.tock.send(`GET /v1/tasks/${id}`)).body).toMatchObject({ state: 'dead' });
});

test('a forged wait neither reaches the run of another tenant nor stops a notify', async () => {
  await client.cancel({ all: true });
  await clientOf('a/c~me').trigger({ url: await serveFor('a/c~me') });
  await world.deliver();
  const { body } = await world.tock.send('GET /v1/tasks?queue=qstash&state=waiting');
  const { payload } = (await world.tock.send(`GET /v1/tasks/${body.tasks[0].id}`)).body;
  const { workflow } = payload.qstash;
  expect(workflow).toMatchObject({ kind: 'wait', event: 'go' });
  const forged = [
    { body: payload.qstash.body, root: workflow.root },
    { body: 'x', root: workflow.root },
    { body: payload.qstash.body, root: 'x' },
  ];
  const tasks = forged.map(({ body: text, root }) => ({
    payload: {
      qstash: { ...payload.qstash, body: text, workflow: { ...workflow, root, nonce: 'x' } },
    },
    push_url: payload.qstash.url,
    delay_seconds: 3600,
  }));
  const added = { body: { tasks }, key: keys.other };
  expect((await world.tock.send('POST /v1/queues/qstash/tasks', added)).status).toBe(201);
  log.splice(0);
  expect(await client.notify({ eventId: 'go', eventData: 5 })).toHaveLength(1);
  await world.deliver();
  expect(log.splice(0)).toEqual(['a/c~me 5']);
});

test('a task that names a run as its parent is none of its steps, and not cancelled with it', async () => {
  await client.cancel({ all: true });
  const log: string[] = [];
  const url = await serveAt('/parent', async (context) => {
    await context.run('first', () => void log.push('first'));
    await context.sleep('nap', 60);
    await context.run('last', () => void log.push('last'));
  });
  const { workflowRunId } = await client.trigger({ url });
  const { body } = await world.tock.send('GET /v1/tasks?queue=qstash&state=ready');
  const parent = body.tasks[0].id;
  const foreign = await world.tock.makeKey(['enqueue'], ['foreign']);
  // More than a page of children, which are before the steps.
  const add = (queue: string, key: string, task: object, count: number) =>
    world.tock.send(`POST /v1/queues/${queue}/tasks`, {
      key,
      body: { tasks: Array.from({ length: count }, () => ({ ...task, parent })) },
    });
  expect((await add('foreign', foreign, {}, 1500)).status).toBe(201);
  const { payload } = (await world.tock.send(`GET /v1/tasks/${parent}`)).body;
  const workflow = { ...payload.qstash.workflow, kind: 'end', nonce: 'guessed', root: parent };
  const end = { payload: { qstash: { ...payload.qstash, workflow } }, push_url: url };
  expect((await add('qstash', world.tock.key, end, 1)).status).toBe(201);
  await world.deliver();
  expect(log).toEqual(['first']);
  expect((await client.logs({ workflowRunId })).runs).toMatchObject([
    { workflowState: 'RUN_STARTED' },
  ]);
  expect(await client.cancel(workflowRunId)).toEqual({ cancelled: 1 });
  const cancelled = await world.tock.send('GET /v1/tasks?queue=foreign&state=cancelled');
  expect(cancelled.body.tasks).toEqual([]);
});

test('a message without the nonce of the run that it names reads nothing of it', async () => {
  await client.cancel({ all: true });
  await client.trigger({ url: world.on('/plain', 200), delay: '1h' });
  const { body } = await world.tock.send('GET /v1/tasks?queue=qstash&state=waiting');
  const root = body.tasks[0].id;
  const rows: number[] = [];
  const read = (nonce: string, tenant: string | null) =>
    world.tock.connect({}, (query) => {
      const counted: typeof query = async (text, values) => {
        const page = await query(text, values);
        rows.push(page.length);
        return page;
      };
      return readRun(counted, { nonce, root }, { id: '1', queue: 'qstash', tenant } as Claimed);
    });
  const { payload } = (await world.tock.send(`GET /v1/tasks/${root}`)).body;
  const { nonce } = payload.qstash.workflow;
  expect(await read('guessed', null)).toBeNull();
  expect(await read(nonce, 'other')).toBeNull();
  expect(rows).toEqual([0, 0]);
  expect(await read(nonce, null)).toMatchObject({ run: { root }, steps: [], ended: false });
  await client.cancel({ all: true });
});
