import { type PublishBatchRequest, Receiver } from '@upstash/qstash';
import { beforeAll, expect, test } from 'vitest';
import { useQstash, type World, world } from './world.ts';

useQstash();
let qstash: World['qstash'];
beforeAll(() => {
  qstash = world.qstash;
});

test('a message arrives with its own method, headers and body, and a signature that Receiver accepts', async () => {
  const url = world.on('/put?a=1&b=%20', 200);
  const { messageId } = await qstash.publish({
    url,
    method: 'PUT',
    body: 'plain, not JSON',
    headers: { 'content-type': 'text/x-own', Authorization: 'Bearer theirs', 'x-own': 'v' },
  });
  await world.deliver();
  expect(world.at('/put?a=1&b=%20')).toEqual([
    expect.objectContaining({ method: 'PUT', body: 'plain, not JSON', verified: true }),
  ]);
  expect(world.at('/put?a=1&b=%20')[0]?.headers).toMatchObject({
    'content-type': 'text/x-own',
    authorization: 'Bearer theirs',
    'x-own': 'v',
    'user-agent': 'Upstash-QStash',
    'upstash-message-id': messageId,
    'upstash-retried': '0',
  });
  expect((await world.tock.send(`GET /v1/tasks/${messageId}`)).body).toMatchObject({
    queue: 'qstash',
    state: 'done',
    result: { status: 200, body: 'no' },
  });
});

test('a body of bytes that are no text arrives unchanged', async () => {
  const url = world.on('/bytes', 200);
  const bytes = Uint8Array.from({ length: 512 }, (_, n) => n % 256);
  const sent = await world.send(`POST /v2/publish/${url}`, { body: bytes });
  expect(sent.status).toBe(201);
  await world.deliver();
  expect([...(world.at('/bytes')[0]?.bytes ?? [])]).toEqual([...bytes]);
});

test('a signature is by the current key, and after a rotation the next one is the current one', async () => {
  const before = await world.keys();
  const url = world.on('/rotated', 200);
  const rotated = await world.send('POST /v2/keys/rotate');
  const after = await world.keys();
  expect(JSON.parse(rotated.text)).toEqual(after);
  expect(after.current).toBe(before.next);
  await qstash.publishJSON({ url, body: 1 });
  await world.deliver();
  const delivery = world.at('/rotated')[0];
  const signature = String(delivery?.headers['upstash-signature']);
  const body = delivery?.body ?? '';
  const verify = (currentSigningKey: string, nextSigningKey: string) =>
    new Receiver({ currentSigningKey, nextSigningKey }).verify({ signature, body, url });
  // Receivers that have not fetched the new pair yet accept it too.
  expect(await verify(before.current, before.next)).toBe(true);
  await expect(verify(before.current, before.current)).rejects.toThrow('signature');
  await expect(
    new Receiver({ currentSigningKey: after.current, nextSigningKey: after.next }).verify({
      signature,
      body: `${body} `,
      url,
    }),
  ).rejects.toThrow('body hash');
});

test('a redirect to another origin carries neither the credentials of a message nor a signature', async () => {
  const elsewhere = `${world.receiver.replace('127.0.0.1', 'localhost')}/elsewhere`;
  const url = world.on('/moved', (response) =>
    response.writeHead(307, { location: elsewhere }).end(),
  );
  await qstash.publish({ url, headers: { authorization: 'secret', 'x-own': 'v' } });
  await world.deliver();
  expect(world.at('/moved')[0]?.headers.authorization).toBe('secret');
  const [{ headers } = { headers: {} }] = world.at('/elsewhere');
  expect(headers).toMatchObject({ 'x-own': 'v' });
  expect(headers).not.toHaveProperty('authorization');
  expect(headers).not.toHaveProperty('upstash-signature');
});

test('a delayed message waits, and can be seen and cancelled until it is sent', async () => {
  const url = world.on('/later', 200);
  const { messageId } = await qstash.publishJSON({
    url,
    body: { a: 1 },
    delay: '1h30m' as string as '90m',
    retries: 5,
    headers: { 'x-own': 'v' },
    label: ['one', 'two'],
    retryDelay: '1000 * retried',
    callback: `${url}?callback`,
  });
  await world.deliver();
  expect(world.at('/later')).toEqual([]);
  const message = await qstash.messages.get(messageId);
  expect(message).toMatchObject({
    messageId,
    url,
    method: 'POST',
    body: '{"a":1}',
    header: { 'X-Own': ['v'], 'Content-Type': ['application/json'] },
    maxRetries: 5,
    retryDelayExpression: '1000 * retried',
    callback: `${url}?callback`,
    label: 'one',
    labels: ['one', 'two'],
  });
  expect(Math.round(((message.notBefore ?? 0) - message.createdAt) / 60_000)).toBe(90);
  expect(await qstash.messages.cancel(messageId)).toEqual({ cancelled: 1 });
  await expect(qstash.messages.cancel(messageId)).rejects.toThrow('not found');
  await world.deliverLater();
  expect(world.at('/later')).toEqual([]);
  const at = Math.floor(Date.now() / 1000) + 7200;
  const absolute = await qstash.publish({ url, notBefore: at, delay: 1 });
  expect((await qstash.messages.get(absolute.messageId)).notBefore).toBe(at * 1000);
  await world.deliverLater();
  expect(world.at('/later')).toHaveLength(1);
});

test('a second message with the same deduplication id, or content, is not sent', async () => {
  const url = world.on('/once', 200);
  const byId = () => qstash.publish({ url, body: String(Math.random()), deduplicationId: 'd' });
  const [first, second] = [await byId(), await byId()];
  expect([first.deduplicated, second]).toEqual([
    undefined,
    { messageId: first.messageId, url, deduplicated: true },
  ]);
  const byContent = (body: string) =>
    qstash.publish({ url, body, contentBasedDeduplication: true });
  const [a, again, b] = [await byContent('a'), await byContent('a'), await byContent('b')];
  expect(again.messageId).toBe(a.messageId);
  expect(b.messageId).not.toBe(a.messageId);
  await world.deliver();
  expect(world.at('/once')).toHaveLength(3);
});

test('a batch is sent to URLs, queues and URL groups, and a bad message in it adds none', async () => {
  const [one, two] = [world.on('/one', 200), world.on('/two', 200)];
  const endpoints = [{ name: 'first', url: one }, { url: two }];
  await qstash.urlGroups.addEndpoints({ name: 'group', endpoints });
  await qstash.queue({ queueName: 'batch' }).upsert({ parallelism: 1 });
  const good: PublishBatchRequest[] = [
    { url: one, body: 'a' },
    { urlGroup: 'group', body: 'b' },
    { url: two, body: 'c', queueName: 'batch' },
  ];
  const tasks = 'select count(*)::integer as n from tock.tasks() t, jsonb_array_elements(t.tasks)';
  const count = async () => (await world.tock.owner.query(tasks)).rows[0].n;
  const before = await count();
  const bad: PublishBatchRequest[] = [
    { url: 'ftp://example.com/' },
    { urlGroup: 'no-such-group' },
    { url: one, delay: 'soon' as string as '1s' },
    { url: one, queueName: 'not a name' },
    { url: one, retryDelay: 'system(1)' },
    { url: one, callback: 'nowhere' },
  ];
  for (const message of bad)
    await expect(qstash.batch([...good, message]), JSON.stringify(message)).rejects.toThrow();
  const large = { url: one, queueName: 'batch', body: 'x'.repeat(4_200_000) };
  await expect(qstash.batch([...good, large])).rejects.toThrow('up to');
  expect(await count()).toBe(before);
  const answers = await qstash.batch(good);
  const published = { messageId: expect.any(String), url: expect.any(String) };
  expect(answers).toEqual([published, [published, published], published]);
  await world.deliver();
  expect(
    world
      .at('/one')
      .map(({ body }) => body)
      .sort(),
  ).toEqual(['a', 'b']);
  expect(
    world
      .at('/two')
      .map(({ body }) => body)
      .sort(),
  ).toEqual(['b', 'c']);
  const toGroup = world.at('/one').find(({ body }) => body === 'b');
  expect(toGroup?.headers['upstash-topic-name']).toBe('group');
});

test('a key that may only enqueue publishes to the queues that are prepared', async () => {
  const url = world.on('/enqueue-only', 200);
  await qstash.queue({ queueName: 'prepared' }).upsert({});
  const client = world.clientFor(await world.tock.makeKey(['enqueue']));
  const once = () => client.publish({ url, deduplicationId: 'only' });
  expect((await once()).messageId).toBe((await once()).messageId);
  await client.queue({ queueName: 'prepared' }).enqueue({ url });
  await expect(client.queue({ queueName: 'unprepared' }).enqueue({ url })).rejects.toThrow('scope');
  await world.deliver();
  expect(world.at('/enqueue-only')).toHaveLength(2);
});

test('URL groups keep their endpoints by URL and by name, and end with the last one', async () => {
  const [a, b] = ['https://a.example/x', 'https://b.example/x'];
  await qstash.urlGroups.addEndpoints({ name: '-g', endpoints: [{ name: 'a', url: a }] });
  await qstash.urlGroups.addEndpoints({
    name: '-g',
    endpoints: [{ url: a }, { name: 'b', url: b }],
  });
  const group = await qstash.urlGroups.get('-g');
  expect(group).toMatchObject({ name: '-g', endpoints: [{ url: a }, { name: 'b', url: b }] });
  expect((await qstash.urlGroups.list()).map(({ name }) => name)).toContain('-g');
  await qstash.urlGroups.removeEndpoints({ name: '-g', endpoints: [{ name: 'b' }] });
  expect((await qstash.urlGroups.get('-g')).endpoints).toEqual([{ url: a }]);
  await qstash.urlGroups.removeEndpoints({ name: '-g', endpoints: [{ url: a }] });
  await expect(qstash.urlGroups.get('-g')).rejects.toThrow('not found');
  await expect(qstash.urlGroups.delete('-g')).rejects.toThrow('not found');
  await expect(qstash.publish({ urlGroup: '-g' })).rejects.toThrow('not found');
});

test('what a publisher redacts is delivered, but not shown', async () => {
  const url = world.on('/secret', 500);
  const { messageId } = await qstash.publish({
    url,
    body: 'secret body',
    headers: { 'x-secret': 'secret header', 'x-open': 'open' },
    redact: { body: true, header: ['X-Secret'] },
    retries: 0,
  });
  await world.deliver();
  expect(world.at('/secret')[0]).toMatchObject({
    body: 'secret body',
    headers: { 'x-secret': 'secret header' },
  });
  const hidden = expect.stringMatching(/^REDACTED:[0-9a-f]{64}$/);
  const shown = { body: hidden, header: { 'X-Secret': [hidden], 'X-Open': ['open'] } };
  expect(await qstash.messages.get(messageId)).toMatchObject(shown);
  const { messages } = await qstash.dlq.listMessages({ dlqIds: [messageId] });
  expect(messages).toMatchObject([shown]);
  const { logs } = await qstash.logs({ messageIds: [messageId] });
  expect(JSON.stringify(logs)).not.toContain('secret ');
});
