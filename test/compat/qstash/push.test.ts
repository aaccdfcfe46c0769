import { afterAll, beforeAll, expect, test } from 'vitest';
import { drain } from '../../../functions/consumers/drain.ts';
import { withPush } from '../../../functions/push/consumers.ts';
import { type Service, service } from '../../http/service.ts';
import { env, there, useReceiver } from '../../push/receiver.ts';

useReceiver();
const bindings = { ...env, TOCK_COMPAT: 'qstash' };
let tock: Service;
beforeAll(async () => {
  tock = await service(bindings);
  for (const queue of ['qstash', 'plain'])
    await tock.send(`PUT /v1/queues/${queue}`, { body: { push: {} } });
});
afterAll(() => tock.database.drop());

const deliver = (own = bindings as object) => drain(tock.connect, own, withPush([]));

/** A task whose payload is a message, as only QStash's API makes it. */
const forged = (url: string, headers: Record<string, string> = {}) => ({
  payload: { qstash: { url, host: '', path: '', method: 'PUT', headers, body: 'text' } },
  push_url: url,
});

const got = (path: string) => there.at(path)[0];

test('in a queue that is not QStash’s, a payload like a message is pushed as any other', async () => {
  const task = forged(`${there.url}/plain`, { authorization: 'theirs' });
  await tock.send('POST /v1/queues/plain/tasks', { body: { tasks: [task] } });
  await deliver();
  expect(JSON.parse(got('/plain')?.body ?? '')).toEqual(task.payload);
  expect(got('/plain')?.headers).toMatchObject({ 'webhook-signature': expect.any(String) });
  expect(got('/plain')?.headers).not.toHaveProperty('upstash-signature');
  expect(got('/plain')?.headers).not.toHaveProperty('authorization');
});

test('without the adapter no queue is QStash’s', async () => {
  const task = forged(`${there.url}/off`);
  await tock.send('POST /v1/queues/qstash/tasks', { body: { tasks: [task] } });
  await deliver(env);
  expect(JSON.parse(got('/off')?.body ?? '')).toEqual(task.payload);
});

test('a message sets no header of the connection, and none by which a receiver knows Tock or a proxy', async () => {
  const [message, sent] = [`${there.url}/message`, `${there.url}/sent`];
  const hostile = {
    Host: 'other.example',
    'Content-Length': '1',
    'transfer-encoding': 'chunked',
    'CF-Connecting-IP': '1.2.3.4',
    'x-forwarded-for': '1.2.3.4',
    'webhook-signature': 'v1,x',
    'tock-queue': 'other',
    'Upstash-Signature': 'x',
    'x-own': 'v',
  };
  await tock.send('POST /v1/queues/qstash/tasks', { body: { tasks: [forged(message, hostile)] } });
  const forward = Object.entries(hostile).map(([name, value]) => [
    `Upstash-Forward-${name}`,
    value,
  ]);
  await tock.send(`POST /v2/publish/${sent}`, {
    raw: 'text',
    headers: { ...Object.fromEntries(forward), 'content-type': 'text/plain' },
  });
  await deliver();
  for (const path of ['/message', '/sent']) {
    const { headers = {}, body } = got(path) ?? {};
    expect(body).toBe('text');
    expect(headers).toMatchObject({
      host: new URL(there.url).host,
      'content-length': '4',
      'x-own': 'v',
      'upstash-signature': expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    });
    const refused = ['cf-connecting-ip', 'x-forwarded-for', 'webhook-signature', 'tock-queue'];
    expect(Object.keys(headers).filter((name) => refused.includes(name))).toEqual([]);
  }
});

test('a push of other queues reads nothing of QStash', async () => {
  await tock.send('POST /v1/queues/plain/tasks', {
    body: { tasks: [{ push_url: `${there.url}/other` }] },
  });
  tock.statements.length = 0;
  await deliver();
  expect(there.at('/other')).toHaveLength(1);
  expect(tock.statements.filter(({ text }) => text.includes('push_secret'))).toEqual([]);
});
