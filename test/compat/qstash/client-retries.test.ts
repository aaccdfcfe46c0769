import { beforeAll, expect, test } from 'vitest';
import { useQstash, type World, world } from './world.ts';

useQstash();
let qstash: World['qstash'];
beforeAll(() => {
  qstash = world.qstash;
});

const taskOf = async (id: string) => (await world.tock.send(`GET /v1/tasks/${id}`)).body;
const retried = (path: string) => world.at(path).map(({ headers }) => headers['upstash-retried']);

/** Seconds from the end of the last attempt to the next one. */
async function waitOf(id: string): Promise<number> {
  const { run_at, runs } = await taskOf(id);
  return (Date.parse(run_at) - Date.parse(runs.at(-1).ended_at)) / 1000;
}

test('any answer but 2xx is tried again after the waits of QStash, then the message is a dead letter', async () => {
  const url = world.on('/failing', 404);
  const { messageId } = await qstash.publish({ url, body: 'x', retries: 2, label: 'failing' });
  await world.deliver();
  expect(await waitOf(messageId)).toBeCloseTo(Math.exp(2.5), 0);
  await world.deliverLater();
  expect(await waitOf(messageId)).toBeCloseTo(Math.exp(5), 0);
  await world.deliverLater();
  expect(retried('/failing')).toEqual(['0', '1', '2']);
  const { messages } = await qstash.dlq.listMessages({ filter: { label: 'failing' } });
  expect(messages).toMatchObject([
    { messageId, dlqId: messageId, url, maxRetries: 2, responseStatus: 404, responseBody: 'no' },
  ]);
});

test('the retry delay of a message, or Retry-After of the answer, sets the wait', async () => {
  const url = world.on('/expression', 500);
  const { messageId } = await qstash.publish({ url, retryDelay: 'pow(2, retried) * 30000' });
  await world.deliver();
  expect(await waitOf(messageId)).toBeCloseTo(30, 0);
  await world.deliverLater();
  expect(await waitOf(messageId)).toBeCloseTo(60, 0);
  world.on('/expression', (response) => response.writeHead(429, { 'retry-after': '7' }).end());
  await world.deliverLater();
  expect(await waitOf(messageId)).toBeCloseTo(7, 0);
  await qstash.messages.cancel(messageId);
});

test('status 489 with Upstash-NonRetryable-Error makes a dead letter at once, without the header it does not', async () => {
  const [final, plain] = ['/final', '/plain'].map((path) =>
    world.on(path, (response) => {
      const headers = path === '/final' ? { 'Upstash-NonRetryable-Error': 'true' } : {};
      response.writeHead(489, headers).end('never');
    }),
  );
  const [dead, waiting] = [
    await qstash.publish({ url: final as string }),
    await qstash.publish({ url: plain as string }),
  ];
  await world.deliver();
  expect((await taskOf(dead.messageId)).state).toBe('dead');
  expect((await taskOf(waiting.messageId)).state).toBe('waiting');
  const { messages } = await qstash.dlq.listMessages({ filter: { responseStatus: 489 } });
  expect(messages).toMatchObject([{ messageId: dead.messageId, responseBody: 'never' }]);
  await qstash.messages.cancel(waiting.messageId);
});

test('an endpoint that does not answer within the timeout has failed', async () => {
  const url = world.on('/silent', () => {});
  const { messageId } = await qstash.publish({ url, timeout: 1, retries: 0 });
  await world.deliver();
  expect(await taskOf(messageId)).toMatchObject({ state: 'dead', error: { name: 'TimedOut' } });
});

test('a dead letter is retried as a new message, and a deleted one is gone for good', async () => {
  const url = world.on('/dead', 500);
  const ids: string[] = [];
  for (const body of ['a', 'b', 'c'])
    ids.push((await qstash.publish({ url, body, retries: 0, label: 'dead' })).messageId);
  const [a = '', b = '', c = ''] = ids;
  await world.deliver();
  world.on('/dead', 200);
  const { responses } = await qstash.dlq.retry(a);
  expect(responses).toEqual([{ messageId: expect.any(String) }]);
  expect(await qstash.dlq.delete([a, b])).toEqual({ deleted: 1 });
  await expect(qstash.dlq.delete(b)).rejects.toThrow('not found');
  await expect(qstash.messages.get(b)).rejects.toThrow('not found');
  const { messages } = await qstash.dlq.listMessages({ filter: { label: 'dead' } });
  expect(messages.map(({ dlqId }) => dlqId)).toEqual([c]);
  await world.deliver();
  expect(
    world
      .at('/dead')
      .map(({ body }) => body)
      .sort(),
  ).toEqual(['a', 'a', 'b', 'c']);
  expect(await qstash.dlq.retry({ all: true, count: 1 })).toMatchObject({
    responses: [{ messageId: expect.any(String) }],
  });
});

test('filters of dead letters match any of their values, page by page', async () => {
  const url = world.on('/filtered', 500);
  const ids: string[] = [];
  for (const label of ['x', 'y', 'z'])
    ids.push((await qstash.publish({ url, retries: 0, label })).messageId);
  await world.deliver();
  const found = async (filter: object) =>
    (await qstash.dlq.listMessages({ filter: filter as never })).messages
      .map(({ messageId }) => messageId)
      .sort();
  expect(await found({ label: ['x', 'y'] })).toEqual(ids.slice(0, 2).sort());
  expect(await found({ url })).toEqual([...ids].sort());
  expect(await found({ label: 'x', url: 'https://other.example/' })).toEqual([]);
  expect(await found({ fromDate: Date.now() + 60_000 })).toEqual([]);
  await expect(found({ labeel: 'x' })).rejects.toThrow('unknown filter labeel');
  const pages: string[][] = [];
  for (let cursor: string | undefined; pages.length < 10; ) {
    const page = await qstash.dlq.listMessages({
      count: 1,
      filter: { label: ['x', 'y', 'z'] },
      ...(cursor && { cursor }),
    });
    pages.push(page.messages.map(({ messageId }) => messageId));
    cursor = page.cursor;
    if (!cursor) break;
  }
  expect(pages.flat().sort()).toEqual([...ids].sort());
  await expect(qstash.dlq.listMessages({ filter: {}, cursor: 'x' })).rejects.toThrow('cursor');
});

test('callbacks get the answer of each attempt, and a failure callback the last one', async () => {
  const [url, callback] = [world.on('/source', 500), world.on('/callback', 200)];
  const failureCallback = world.on('/failure', 200);
  const { messageId } = await qstash.publish({
    url,
    body: 'source',
    callback,
    failureCallback,
    retries: 1,
    headers: { 'Upstash-Callback-Forward-X-Own': 'v', 'Upstash-Callback-Method': 'PUT' },
  });
  await world.deliver();
  await world.deliverLater();
  const bodies = (path: string) => world.at(path).map(({ body }) => JSON.parse(body));
  const report = { status: 500, body: btoa('no'), maxRetries: 1, sourceMessageId: messageId, url };
  expect(bodies('/callback')).toMatchObject([
    { ...report, retried: 0, sourceBody: btoa('source') },
    { ...report, retried: 1 },
  ]);
  expect(bodies('/failure')).toMatchObject([{ ...report, retried: 1, dlqId: messageId }]);
  expect(world.at('/callback')[0]).toMatchObject({
    method: 'PUT',
    verified: true,
    headers: { 'x-own': 'v', 'content-type': 'application/json' },
  });
  world.on('/source', (response) => response.setHeader('x-answer', '1').end('fine'));
  const second = await qstash.publish({ url, callback, failureCallback });
  await world.deliver();
  expect(bodies('/callback')[2]).toMatchObject({
    status: 200,
    body: btoa('fine'),
    header: { 'x-answer': ['1'] },
    sourceMessageId: second.messageId,
  });
  expect(world.at('/failure')).toHaveLength(1);
});

test('the log of a message has its attempts, newest first', async () => {
  const url = world.on('/logged', 500);
  const { messageId } = await qstash.publish({ url, body: 'b', retries: 1, label: 'logged' });
  await world.deliver();
  world.on('/logged', 200);
  await world.deliverLater();
  const { logs } = await qstash.logs({ filter: { label: 'logged' } });
  const states = ['DELIVERED', 'ACTIVE', 'RETRY', 'ACTIVE', 'CREATED'];
  expect(logs.map(({ state }) => state)).toEqual(states);
  expect(logs[0]).toMatchObject({ messageId, url, body: btoa('b'), labels: ['logged'] });
  expect(logs[2]?.error).toContain('500 from');
  const active = await qstash.logs({ filter: { label: 'logged', state: 'DELIVERED' } });
  expect(active.logs).toHaveLength(1);
});
