import { expect, test } from 'vitest';
import { world } from '../qstash/world.ts';
import { client, serveAt, useWorkflow } from './world.ts';

useWorkflow();

const got: unknown[] = [];

test('a call is made by Tock, and the run goes on with its answer', async () => {
  const api = world.on('/api', (response, { method, headers, body }) => {
    const answer = { method, body, own: headers['x-own'], theirs: headers['x-user'] ?? null };
    response.writeHead(201, { 'content-type': 'application/json', 'x-answer': 'yes' });
    response.end(JSON.stringify({ ...answer, text: 'Zoë' }));
  });
  const url = await serveAt('/caller', async (context) => {
    if (context.headers.get('x-user') !== 'ann') return;
    const [a, b] = await Promise.all([
      context.call('post', {
        url: api,
        method: 'POST',
        body: '{"n":1}',
        headers: { 'x-own': 'v' },
      }),
      context.call('get', { url: api }),
    ]);
    await context.run('end', () => void got.push(a.status, a.body, a.header['x-answer'], b.body));
  });
  await client.trigger({ url, headers: { 'x-user': 'ann' } });
  await world.deliver();
  const text = 'Zoë';
  expect(got.splice(0)).toEqual([
    201,
    { method: 'POST', body: '{"n":1}', own: 'v', theirs: null, text },
    ['yes'],
    { method: 'GET', body: '', theirs: null, text },
  ]);
  expect(world.at('/api')).toHaveLength(2);
  const { runs } = await client.logs();
  expect(runs).toMatchObject([{ workflowState: 'RUN_SUCCESS' }]);
});

test('a call that fails is tried again, then the run goes on with the last answer', async () => {
  const api = world.on('/broken', 503);
  const url = await serveAt('/patient', async (context) => {
    const { status, body } = await context.call('call', { url: api, retries: 1 });
    await context.run('end', () => void got.push(status, body));
  });
  const { workflowRunId } = await client.trigger({ url });
  await world.deliver();
  expect(got).toEqual([]);
  await world.deliverLater();
  expect(got.splice(0)).toEqual([503, 'no']);
  expect(world.at('/broken')).toHaveLength(2);
  expect((await client.dlq.list()).messages).toEqual([]);
  const { runs } = await client.logs({ workflowRunId });
  expect(runs).toMatchObject([{ workflowState: 'RUN_SUCCESS' }]);
});

test('a call to an address that Tock does not send to fails the run', async () => {
  const url = await serveAt('/private', async (context) => {
    await context.call('call', { url: 'ftp://a.example/x' });
  });
  await client.trigger({ url, retries: 0, label: 'ftp' });
  await world.deliver();
  const { messages } = await client.dlq.list({ filter: { label: 'ftp' } });
  expect(messages).toHaveLength(1);
});
