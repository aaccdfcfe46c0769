import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { bundle } from '../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../database.ts';
import { expire, reap, value, waitUntil } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';
import { env, there, useReceiver, verify } from './receiver.ts';

useReceiver();
let code: string;
let database: Database;
let served: Served;
let key: string;
let tock: Tock;

const bindings = () => ({
  DATABASE_URL: database.poolUrl ?? database.edgeUrl,
  ...env,
});

async function start(settings: Record<string, string> = bindings()): Promise<void> {
  served = await serveBundle(code, settings);
  tock = createTock({ url: served.url, key });
}

beforeAll(async () => {
  code = (await bundle()).code;
  database = await freshDatabase();
  const owner = await database.connect();
  key = await value(owner, "select key from tock.create_key('k', '{enqueue,claim,read,admin}')");
  await start();
});
afterAll(async () => {
  await served?.stop();
  await database?.drop();
});

async function call(method: string, path: string, body?: object) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(`${served.url}${path}`, init);
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  return { status: response.status, body: (await response.json()) as any };
}

const put = (queue: string, push: object) => call('PUT', `/v1/queues/${queue}`, { push });
const ended = (id: string) => call('GET', `/v1/tasks/${id}?wait_seconds=30`);

test('an enqueued task is pushed at once, and the answer is its result', async () => {
  await put('mail', { url: there.url });
  const { body: kept } = await call('GET', '/v1/queues/mail/push-secret');
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const id = await tock.enqueue('mail', { to: 'ann' }, { headers: { traceparent } });
  const { body: task } = await ended(id);
  expect(task).toMatchObject({ state: 'done', result: { status: 200, body: { ok: true } } });
  const [got] = there.at('/');
  expect(verify(kept.secret, got as never)).toEqual({ to: 'ann' });
  expect(got?.headers).toMatchObject({ 'webhook-id': id, traceparent });
});

test('an enqueue into a queue without push wakes no consumer', async () => {
  const before = there.got.length;
  await tock.enqueue('quiet', 1);
  const { body } = await call('POST', '/v1/queues/quiet/claim', { wait_seconds: 1 });
  expect([body.state, there.got.length]).toEqual(['found', before]);
});

test('redirects and failures behave in workerd as on Node', async () => {
  there.on('/from', (response) => response.writeHead(308, { location: '/to' }).end());
  there.on('/refuses', (response) => response.writeHead(422).end('no'));
  await put('open', {});
  const ids = await tock.enqueueMany('open', [
    { payload: 1, push_url: `${there.url}/from` },
    { payload: 2, push_url: `${there.url}/refuses` },
    { payload: 3, push_url: 'http://127.0.0.1:1/' },
  ]);
  const [from, refuses] = await Promise.all(ids.slice(0, 2).map(ended));
  expect(from?.body).toMatchObject({ state: 'done', result: { status: 200 } });
  expect(refuses?.body).toMatchObject({ state: 'dead', error: { name: 'Refused', body: 'no' } });
  const { body } = await call('GET', `/v1/tasks/${ids[2]}`);
  expect(body).toMatchObject({ state: 'waiting', runs: [{ error: { name: 'NoAnswer' } }] });
});

test('a Worker that dies between push and completion pushes again, under the same webhook-id', async () => {
  await put('killed', { url: `${there.url}/killed` });
  const owner = await database.connect();
  there.on('/killed', (response, _got, count) => {
    if (count > 1) response.end();
    // The Worker is killed after the receiver got the push, so it never gets the answer.
    else void served.stop();
  });
  const id = await tock.enqueue('killed', 1).catch(() => null);
  await vi.waitUntil(() => there.at('/killed').length === 1, { timeout: conditionTimeout });
  const leases = `select l.token from tock.leases l join tock.streams s on s.number = l.stream
    where l.closed_at is null and s.queue = 'killed'`;
  const lease = await waitUntil('there is a lease', () => value<string>(owner, leases));
  await expire(owner, lease);
  await reap(owner);
  await start();
  await call('POST', '/v1/tick', {});
  await vi.waitUntil(() => there.at('/killed').length === 2, { timeout: conditionTimeout });
  const sent = there.at('/killed').map(({ headers }) => headers['webhook-id']);
  expect(sent).toEqual([id ?? sent[0], id ?? sent[0]]);
  await vi.waitUntil(
    async () => (await call('GET', `/v1/tasks/${sent[0]}`)).body.state === 'done',
    conditionTimeout,
  );
});

test('a private address is refused in workerd too', async () => {
  await served.stop();
  const { TOCK_PUSH_PRIVATE, ...guarded } = bindings();
  await start(guarded);
  const push_url = 'https://[::ffff:127.0.0.1]/';
  await expect(tock.enqueue('open', 1, { push_url })).rejects.toThrow('is not a public address');
  const owner = await database.connect();
  const enqueue = `select (tock.enqueue('open', '[{"push_url": "${push_url}"}]'))[1]`;
  const id = await value<string>(owner, enqueue);
  await call('POST', '/v1/tick', {});
  const { body } = await ended(id);
  expect(body).toMatchObject({ state: 'dead', error: { name: 'NotAllowed' } });
});
