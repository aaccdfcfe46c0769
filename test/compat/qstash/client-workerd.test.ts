import { Client, Receiver } from '@upstash/qstash';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../../database.ts';
import { env, there, useReceiver } from '../../push/receiver.ts';
import { value } from '../../sql/verbs.ts';
import { type Served, serveBundle } from '../../worker/workerd.ts';

useReceiver();
let database: Database;
let served: Served;
let qstash: Client;

beforeAll(async () => {
  database = await freshDatabase();
  const owner = await database.connect();
  const token = await value<string>(
    owner,
    "select key from tock.create_key('k', '{enqueue,read,admin}')",
  );
  served = await serveBundle((await bundle()).code, {
    DATABASE_URL: database.poolUrl ?? database.edgeUrl,
    TOCK_COMPAT: 'qstash',
    ...env,
  });
  qstash = new Client({ baseUrl: served.url, token, retry: false });
});
afterAll(async () => {
  await served?.stop();
  await database?.drop();
});

test('in workerd a message is delivered right after its publish, and calls back', async () => {
  const [url, callback] = [`${there.url}/message?a=1`, `${there.url}/callback`];
  await qstash.publish({ url, body: 'text', callback, headers: { authorization: 'theirs' } });
  await expect.poll(() => there.at('/callback').length).toBe(1);
  const [message] = there.at('/message');
  expect(message).toMatchObject({ body: 'text', headers: { authorization: 'theirs' } });
  const { current, next } = await qstash.http.request<{ current: string; next: string }>({
    path: ['v2', 'keys'],
    method: 'GET',
  });
  const receiver = new Receiver({ currentSigningKey: current, nextSigningKey: next });
  const signature = String(message?.headers['upstash-signature']);
  expect(await receiver.verify({ signature, body: 'text', url })).toBe(true);
});

test('in workerd the messages of a queue arrive in their order', async () => {
  const queue = qstash.queue({ queueName: 'ordered' });
  const bodies = Array.from({ length: 8 }, (_, n) => String(n));
  for (const body of bodies) await queue.enqueue({ url: `${there.url}/ordered`, body });
  await expect.poll(() => there.at('/ordered').map(({ body }) => body)).toEqual(bodies);
});
