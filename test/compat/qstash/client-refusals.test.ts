import { type QstashError, QstashRatelimitError } from '@upstash/qstash';
import { beforeAll, expect, test } from 'vitest';
import { injections } from '../../fuzz/hostile_values.ts';
import { rowCounts, service } from '../../http/service.ts';
import { useQstash, type World, world } from './world.ts';

useQstash();
let qstash: World['qstash'];
beforeAll(async () => {
  qstash = world.qstash;
  await qstash.queue({ queueName: 'own' }).upsert({});
});

const keyForTenant = async (tenant: string): Promise<string> =>
  (
    await world.tock.send('POST /v1/keys', {
      body: { name: tenant, scopes: ['enqueue', 'read'], tenants: [tenant] },
    })
  ).body.key;

/** What a refused call must not change. */
const counts = async () => {
  const { keys: _keys, ...rest } = await rowCounts(world.tock.owner);
  return rest;
};

test('a key that is unknown, or limited to other queues or scopes, is refused', async () => {
  const url = world.on('/limited', 200);
  const refused = async (key: string, call: (client: World['qstash']) => Promise<unknown>) =>
    call(world.clientFor(key)).then(
      () => 200,
      (error: QstashError) => error.status,
    );
  const own = await world.tock.makeKey(['enqueue', 'claim', 'read', 'admin'], ['qstash:own']);
  const reader = await world.tock.makeKey(['read']);
  const published = await qstash.publish({ url, delay: '1d' });
  const queued = await qstash.queue({ queueName: 'own' }).enqueue({ url, delay: '1d' });
  const before = await counts();
  expect(await refused('tock_nobody', (client) => client.publish({ url }))).toBe(401);
  expect(
    (await world.send(`POST /v2/publish/${url}`, { headers: { authorization: 'x' } })).status,
  ).toBe(401);
  const calls: ((client: World['qstash']) => Promise<unknown>)[] = [
    (client) => client.publish({ url }),
    (client) => client.queue({ queueName: 'other' }).enqueue({ url }),
    (client) => client.queue({ queueName: 'other' }).upsert({}),
    (client) => client.messages.get(published.messageId),
    (client) => client.messages.cancel(published.messageId),
    (client) => client.schedules.create({ destination: url, cron: '* * * * *' }),
    (client) => client.urlGroups.addEndpoints({ name: 'g', endpoints: [{ url }] }),
    (client) => client.flowControl.pause('k'),
    (client) => client.logs({ filter: { queueName: 'other' } }),
    (client) => client.batch([{ url, queueName: 'own' }, { url }]),
    (client) => client.http.request({ path: ['v2', 'keys'], method: 'GET' }),
  ];
  for (const call of calls) expect(await refused(own, call), String(call)).toBe(403);
  for (const call of calls.slice(0, 3)) expect(await refused(reader, call)).toBe(403);
  expect(await counts()).toEqual(before);
  // It sees and changes its own queue only.
  const client = world.clientFor(own);
  expect((await client.queue().list()).map(({ name }) => name)).toEqual(['own']);
  expect((await client.logs()).logs.map(({ messageId }) => messageId)).toEqual([queued.messageId]);
  expect(await client.messages.cancel({ all: true })).toEqual({ cancelled: 1 });
  expect((await qstash.messages.get(published.messageId)).messageId).toBe(published.messageId);
});

test('no key for tenants, other queues or less than admin reads or rotates the signing keys', async () => {
  const before = await world.keys();
  const readers = [
    await world.tock.makeKey(['enqueue', 'claim', 'read']),
    await world.tock.makeKey(['enqueue', 'claim', 'read', 'admin'], ['qstash:own']),
    await keyForTenant('acme'),
  ];
  for (const key of readers) {
    const headers = { authorization: `Bearer ${key}` };
    for (const route of ['GET /v2/keys', 'POST /v2/keys/rotate']) {
      const { status, text } = await world.send(route, { headers });
      expect([route, status], text).toEqual([route, 403]);
      expect(text).not.toContain('sig_');
    }
  }
  expect(await world.keys()).toEqual(before);
});

test('a key for a tenant publishes, reads and cancels the messages of its tenant only', async () => {
  const url = world.on('/tenant', 200);
  const [acme, other] = [await keyForTenant('acme'), await keyForTenant('other')];
  const client = world.clientFor(acme);
  const delay = '1d';
  const { messageId } = await client.publish({ url, delay, deduplicationId: 'same', label: 't' });
  const theirs = await world
    .clientFor(other)
    .publish({ url, delay, deduplicationId: 'same', label: 't' });
  expect(theirs).not.toHaveProperty('deduplicated');
  expect((await client.messages.get(messageId)).messageId).toBe(messageId);
  await expect(client.messages.get(theirs.messageId)).rejects.toThrow('not found');
  await expect(client.messages.cancel(theirs.messageId)).rejects.toThrow('not found');
  const { logs } = await client.logs({ filter: { label: 't' } });
  expect(new Set(logs.map((log) => log.messageId))).toEqual(new Set([messageId]));
  expect(await client.messages.cancel({ all: true })).toEqual({ cancelled: 1 });
  expect((await qstash.messages.get(theirs.messageId)).messageId).toBe(theirs.messageId);
  await qstash.messages.cancel(theirs.messageId);
});

test('an unknown key is refused also where its request names nothing that could exist', async () => {
  const headers = { authorization: 'Bearer tock_nobody' };
  for (const route of [
    'DELETE /v2/messages?messageIds=x',
    'GET /v2/logs?messageIds=x',
    'GET /v2/dlq?dlqIds=x',
    'DELETE /v2/dlq?dlqIds=x',
    'POST /v2/dlq/retry?dlqIds=x',
    'POST /v2/keys/rotate',
  ])
    expect([route, (await world.send(route, { headers })).status]).toEqual([route, 401]);
});

test('a key that may not change limits publishes with those that are set', async () => {
  const url = world.on('/flow-enqueue', 200);
  const flowControl = { key: 'set', parallelism: 3 } as const;
  await qstash.publish({ url, flowControl, delay: '1d' });
  const client = world.clientFor(await world.tock.makeKey(['enqueue', 'read']));
  const { messageId } = await client.publish({ url, flowControl, delay: '1d' });
  expect((await qstash.messages.get(messageId)).parallelism).toBe(3);
  const before = await counts();
  const other = client.publish({ url, flowControl: { key: 'set', parallelism: 4 }, delay: '1d' });
  await expect(other).rejects.toThrow('scope');
  expect(await counts()).toEqual(before);
  expect((await qstash.flowControl.get('set')).parallelismMax).toBe(3);
  await qstash.messages.cancel({ filter: { flowControlKey: 'set' } });
});

test('a key over its rate gets the error of the client for a burst', async () => {
  const { rows } = await world.tock.owner.query(
    `select key from tock.create_key(p_name => 'slow', p_scopes => '{read}', p_rate_limit => 1, p_rate_seconds => 3600)`,
  );
  const client = world.clientFor(rows[0].key);
  await client.http.request({ path: ['v2', 'globalParallelism'], method: 'GET' });
  const error = await client.flowControl.getGlobalParallelism().catch((thrown) => thrown);
  expect(error).toBeInstanceOf(QstashRatelimitError);
  expect(error).toMatchObject({ limit: '1', remaining: '0' });
  expect(Number(error.reset)).toBeGreaterThan(Date.now() / 1000);
});

test('headers with hostile values are refused with a text, and change nothing', async () => {
  const url = world.on('/hostile', 200);
  const before = await counts();
  const names = [
    ...['Delay', 'Not-Before', 'Retries', 'Retry-Delay', 'Timeout', 'Method', 'Callback'],
    ...['Failure-Callback', 'Flow-Control-Value', 'Redact-Fields', 'Cron', 'Callback-Retries'],
  ];
  const values = [
    ...injections,
    '-1',
    '1e9',
    '0x10',
    '99999999999999999999',
    '1.5',
    '((((',
    'retried(',
  ];
  for (const name of names) {
    for (const value of values) {
      const headers = new Headers({
        'Upstash-Flow-Control-Key': 'k',
        'Upstash-Flow-Control-Value': 'parallelism=1',
      });
      // A number is an expression.
      if (name === 'Retry-Delay' && /^-?[\d.]+$/.test(value)) continue;
      if (name.startsWith('Callback-')) headers.set('Upstash-Callback', url);
      try {
        headers.set(`Upstash-${name}`, value);
      } catch {
        continue; // no header may have it
      }
      if (headers.get(`Upstash-${name}`) === '') continue;
      const answer = await world.send(`POST /v2/publish/${url}`, { headers }).catch(() => null);
      if (answer === null) continue; // no request may have it
      const { status, text } = answer;
      expect([name, value, status, text], text).toEqual([
        name,
        value,
        expect.toSatisfy((code: number) => code >= 400 && code < 500),
        expect.stringMatching(/^\{"error":".+"\}$/),
      ]);
    }
  }
  expect(await counts()).toEqual(before);
  await world.deliver();
  expect(world.at('/hostile')).toEqual([]);
});

test('hostile paths, queries and bodies never cause a 5xx', async () => {
  const before = await counts();
  const parts = injections.map((text) => encodeURIComponent(text.toWellFormed()));
  const get = ['messages', 'queues', 'schedules', 'topics', 'dlq', 'flowControl'];
  const requests: [string, RequestInit?][] = [
    ...get.flatMap((name) => parts.map((part): [string] => [`GET /v2/${name}/${part}`])),
    ...get.flatMap((name) => parts.map((part): [string] => [`DELETE /v2/${name}/${part}`])),
    ...['url', 'label', 'queueName', 'fromDate', 'count', 'cursor', 'messageId', 'dlqIds'].flatMap(
      (name) => parts.map((part): [string] => [`GET /v2/dlq?${name}=${part}`]),
    ),
    ...parts.map((part): [string] => [`POST /v2/publish/${part}`]),
    ...parts.map((part): [string] => [`POST /v2/publish/https://${part}:x/`]),
    ...[
      '[]',
      '[1]',
      'null',
      '{}',
      '[null]',
      '[{"destination":1}]',
      '{"a":',
      '\u0000',
      '"x"',
    ].flatMap((body): [string, RequestInit][] =>
      ['POST /v2/batch', 'POST /v2/queues', 'POST /v2/topics/g/endpoints'].map((route) => [
        route,
        { body },
      ]),
    ),
    ['POST /v2/batch', { body: '[{"destination":"https://a.example/","headers":{"a\\n":"b"}}]' }],
    ['POST /v2/batch', { body: '[{"destination":"https://a.example/","headers":"x","body":{}}]' }],
    [
      'POST /v2/topics/g/endpoints',
      { body: '{"endpoints":[{"url":"https://a.example/","name":5}]}' },
    ],
    ['POST /v2/queues', { body: '{"queueName":"q","parallelism":1.5}' }],
    ['POST /v2/publish/https%3A%2F%2Fa.example%2'],
    ['GET /v2/messages/%ff'],
    ['GET /v2/nothing'],
    ['PUT /v2/queues/x'],
    ['POST /v2/publish/'],
  ];
  for (const [route, init] of requests) {
    const { status, text } = await world.send(route, init);
    expect([route, init?.body, status < 500], text).toEqual([route, init?.body, true]);
    expect(text, route).not.toMatch(/\bat .+:\d+|node_modules|\.ts\b/);
  }
  expect(await counts()).toEqual(before);
});

test('a forged message in a payload neither breaks the Worker nor is sent to where a push may not go', async () => {
  const url = world.on('/forged', 200);
  const message = { url, method: 'POST', headers: {}, body: 'b' };
  const forged = [
    { ...message, method: 'BAD METHOD' },
    { ...message, headers: { 'a b': 'c' } },
    {
      ...message,
      headers: JSON.parse('{"__proto__": "a", "constructor": "b", "x": "\\u20ac\\n"}'),
    },
    { ...message, topic: 'a\nb', schedule: '\u20ac' },
    { ...message, url: 'no url' },
    { ...message, body: '%%%', base64: true },
    { ...message, callback: { url: 'no url' } },
    { ...message, callback: { url: 'ftp://example.com/', headers: 5, retries: 'x' } },
    { ...message, retry_delay: {}, redact: 'x', timeout: -5 },
  ];
  const tasks = forged.map((qstash) => ({ payload: { qstash }, push_url: url, max_attempts: 1 }));
  const sent = await world.tock.send('POST /v1/queues/qstash:own/tasks', { body: { tasks } });
  await world.deliver();
  for (const id of sent.body.ids) {
    const { state } = (await world.tock.send(`GET /v1/tasks/${id}`)).body;
    expect(['done', 'dead']).toContain(state);
    expect((await world.send(`GET /v2/messages/${id}`)).status).toBeLessThan(500);
  }
});

test('without TOCK_COMPAT there is no such route, and a name that is no adapter is refused', async () => {
  const plain = await service();
  const wrong = await service({ TOCK_COMPAT: 'qstash,secret-value' });
  expect((await plain.send('GET /v2/queues')).status).toBe(404);
  const refused = await wrong.send('GET /v1/queues');
  expect(refused).toMatchObject({
    status: 503,
    body: { hint: expect.stringContaining('TOCK_COMPAT') },
  });
  expect(refused.text).not.toContain('secret-value');
  await plain.database.drop();
  await wrong.database.drop();
});

test('a call whose URL group, queues or ids would become too much work is refused, and adds nothing', async () => {
  const endpoints = [1, 2, 3].map((n) => ({ url: world.on(`/large-${n}`, 200) }));
  await qstash.urlGroups.addEndpoints({ name: 'large', endpoints });
  const before = await counts();
  const body = 'x'.repeat(2_000_000);
  await expect(qstash.publish({ urlGroup: 'large', body })).rejects.toThrow('too large');
  await expect(qstash.batch([{ urlGroup: 'large', body }])).rejects.toThrow('too large');
  const list = (count: number) => Array.from({ length: count }, (_, n) => n + 1).join(',');
  for (const route of [
    `DELETE /v2/messages?queueName=${list(51)}`,
    `GET /v2/logs?label=${list(51)}`,
    `POST /v2/dlq/retry?dlqIds=${list(101)}`,
    `GET /v2/logs?messageIds=${list(101)}`,
  ])
    expect([route, (await world.send(route)).status]).toEqual([route, 400]);
  expect(await counts()).toEqual(before);
});
