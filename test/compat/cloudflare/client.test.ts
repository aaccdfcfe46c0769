import { Buffer } from 'node:buffer';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, service } from '../../http/service.ts';
import { account_id, type Client, clientOptions, loadCloudflare, type Messages } from './client.ts';

type Message = {
  id: string;
  body: string;
  attempts: number;
  timestamp_ms: number;
  lease_id: string;
  ref: string;
  metadata: Record<string, string>;
};

let tock: Service;
let connectWith: (apiToken: string) => Client;
let messages: Messages;

beforeAll(async () => {
  const load = await loadCloudflare();
  tock = await service();
  const { Cloudflare } = load('cloudflare');
  connectWith = (apiToken) => new Cloudflare({ ...clientOptions(tock), apiToken });
  messages = connectWith(tock.key).queues.messages;
});
afterAll(() => tock.database.drop());

async function pull(queue: string, params: object = {}): Promise<Message[]> {
  return (await messages.pull(queue, { account_id, ...params })).messages;
}
const ack = (queue: string, params: object) => messages.ack(queue, { account_id, ...params });
const push = (queue: string, ...bodies: unknown[]) =>
  messages.bulkPush(queue, { account_id, messages: bodies.map((body) => ({ body })) });
const task = async (id: string) => (await tock.send(`GET /v1/tasks/${id}`)).body;
const leaseIds = (pulled: Message[]) => pulled.map(({ lease_id }) => ({ lease_id }));
const decoded = ({ body, metadata }: Message) =>
  metadata['CF-Content-Type'] === 'json'
    ? JSON.parse(Buffer.from(body, 'base64').toString('utf8'))
    : body;

/** Lets the leases of a queue expire, and takes them back. */
async function expireLeases(): Promise<void> {
  await tock.owner.query(
    "update tock.leases set leased_until = now() - interval '1 minute' where closed_at is null",
  );
  await tock.owner.query('select tock.reap(p_sweep => true)');
}

test('a message has its body in the encoding of its content type', async () => {
  const values = [{ to: 'ann', '😀': [1, null] }, 'text in JSON', 7, null];
  await push('types', ...values);
  for (const body of ['', 'plain é']) {
    await messages.push('types', { account_id, body, content_type: 'text' });
  }
  const pulled = await pull('types', { batch_size: 100 });
  const seen = pulled.length < 6 ? [...pulled, ...(await pull('types'))] : pulled;
  const byType = (type: string) =>
    seen.filter(({ metadata }) => metadata['CF-Content-Type'] === type).map(decoded);
  expect(byType('json')).toEqual(expect.arrayContaining(values));
  expect(byType('text').toSorted()).toEqual(['', 'plain é']);
  expect(seen).toHaveLength(6);
  const [first] = seen;
  expect(first).toMatchObject({ attempts: 1, id: expect.stringMatching(/^\d+$/) });
  expect(Date.parse((await task(first?.id as string)).created_at)).toBe(first?.timestamp_ms);
});

test("a worker of Tock gets the body as its payload, and a pull gets the payloads of Tock's clients", async () => {
  await push('both', { from: 'cloudflare' });
  const claimed = await tock.send('POST /v1/queues/both/claim', { body: {} });
  expect(claimed.body.tasks).toMatchObject([{ payload: { from: 'cloudflare' }, headers: null }]);
  await tock.send('POST /v1/queues/both/tasks', { body: { payloads: [{ from: 'tock' }] } });
  expect((await pull('both')).map(decoded)).toEqual([{ from: 'tock' }]);
});

test('two pulls never share a message', async () => {
  await push('shared', ...Array.from({ length: 60 }, (_, n) => n));
  const seen: Message[] = [];
  while (seen.length < 60) {
    const batches = await Promise.all(Array.from({ length: 8 }, () => pull('shared')));
    for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(5);
    seen.push(...batches.flat());
  }
  expect(seen.map(decoded).toSorted((a, b) => a - b)).toEqual(Array.from(Array(60).keys()));
  expect(await pull('shared')).toEqual([]);
});

test('one call acknowledges some messages of several pulls, and retries others', async () => {
  await tock.send('PUT /v1/queues/mixed', { body: { backoff_base_seconds: 3600 } });
  await push('mixed', 1, 2, 3, 4);
  const one = await pull('mixed', { batch_size: 3 });
  const other = await pull('mixed');
  const all = [...one, ...other];
  expect(all).toHaveLength(4);
  const [a, b, c, d] = leaseIds(all);
  const statements = tock.statements.length;
  const request = {
    acks: [a, d, a, { lease_id: 'x' }],
    retries: [b, { ...c, delay_seconds: 600 }],
  };
  const answer = { ackCount: 2, retryCount: 2, warnings: { x: expect.any(String) } };
  expect(await ack('mixed', request)).toEqual(answer);
  expect(tock.statements.length - statements).toBeLessThanOrEqual(4);
  // A client repeats a call whose answer was lost.
  expect(await ack('mixed', request)).toEqual(answer);
  const states = await Promise.all(all.map(async ({ id }) => (await task(id)).state));
  expect(states).toEqual(['done', expect.stringMatching(/ready|waiting/), 'waiting', 'done']);
  const { run_at, runs } = await task(all[2]?.id as string);
  expect(Math.round((Date.parse(run_at) - Date.parse(runs[0].ended_at)) / 1000)).toBe(600);
  await expect
    .poll(async () => (await pull('mixed')).map(({ id, attempts }) => [id, attempts]))
    .toEqual([[all[1]?.id, 2]]);
});

test('a retry uses up an attempt, and the last one leaves the message dead', async () => {
  await tock.send('PUT /v1/queues/attempts', { body: { max_attempts: 2 } });
  await push('attempts', 1);
  const [first] = await pull('attempts');
  await ack('attempts', { retries: leaseIds([first as Message]) });
  await expect
    .poll(async () => {
      const pulled = await pull('attempts');
      if (pulled.length > 0) await ack('attempts', { retries: leaseIds(pulled) });
      return (await task(first?.id as string)).state;
    })
    .toBe('dead');
  expect(await task(first?.id as string)).toMatchObject({
    attempt: 2,
    error: { name: 'Retry' },
  });
});

test('an acknowledgement after the visibility timeout is a warning, and the message comes again', async () => {
  await push('late', 1);
  const [first] = await pull('late', { visibility_timeout_ms: 5500 });
  const { runs } = await task(first?.id as string);
  const leased_ms = Date.parse(runs[0].leased_until) - Date.parse(runs[0].started_at);
  expect(Math.round(leased_ms / 1000)).toBe(6);
  await expireLeases();
  const lease_id = first?.lease_id as string;
  for (const request of [{ acks: [{ lease_id }] }, { retries: [{ lease_id }] }]) {
    expect(await ack('late', request)).toEqual({
      ackCount: 0,
      retryCount: 0,
      warnings: { [lease_id]: expect.stringMatching(/not valid any more/) },
    });
  }
  const [second] = await pull('late');
  expect(second).toMatchObject({ id: first?.id, attempts: 2 });
  expect(await ack('late', { acks: leaseIds([second as Message]) })).toMatchObject({ ackCount: 1 });
});

test('a delay of a message, of its batch, and none', async () => {
  await messages.bulkPush('delays', {
    account_id,
    delay_seconds: 600,
    messages: [
      { body: 'batch' },
      { body: 'own', delay_seconds: 60 },
      { body: 'none', delay_seconds: 0 },
    ],
  });
  const pulled = await pull('delays');
  expect(pulled.map(decoded)).toEqual(['none']);
  const listed = await tock.send('GET /v1/tasks?queue=delays&state=waiting');
  const delays = listed.body.tasks.map(
    (one: { run_at: string; created_at: string; preview: string }) => [
      one.preview,
      Math.round((Date.parse(one.run_at) - Date.parse(one.created_at)) / 1000),
    ],
  );
  expect(Object.fromEntries(delays)).toEqual({ '"batch"': 600, '"own"': 60 });
});

test('a pull counts the messages that are not acknowledged, if its key may read', async () => {
  await push('backlog', 1, 2, 3);
  await messages.push('backlog', { account_id, body: 4, delay_seconds: 600 });
  const statements = tock.statements.length;
  const pulled = await messages.pull('backlog', { account_id, batch_size: 2 });
  expect(pulled.message_backlog_count).toBe(4);
  expect(tock.statements.length - statements).toBe(2);
  await ack('backlog', { acks: leaseIds(pulled.messages) });
  const left = 4 - pulled.messages.length;
  expect((await messages.pull('backlog', { account_id })).message_backlog_count).toBe(left);
  const blind = connectWith(await tock.makeKey(['claim'])).queues.messages;
  expect(await blind.pull('backlog', { account_id })).toEqual({ messages: [] });
});

test('peeked messages stay, and purged ones are gone', async () => {
  await push('peeked', { long: 'x'.repeat(1000) }, 'a string');
  const peek = async (): Promise<Message[]> =>
    (await messages.peek('peeked', { account_id, batch_size: 10 })).messages;
  const peeked = await peek();
  expect(peeked.map(decoded)).toEqual(
    expect.arrayContaining([{ long: 'x'.repeat(1000) }, 'a string']),
  );
  expect(peeked).toMatchObject([{ attempts: 0 }, { attempts: 0 }]);
  expect(await peek()).toEqual(peeked);
  const [leased] = await pull('peeked', { batch_size: 1 });
  const other = peeked.find(({ id }) => id !== leased?.id) as Message;
  const refs = [...peeked, other].map(({ ref }) => ({ ref }));
  const purged = await messages.purge('peeked', { account_id, refs: [...refs, { ref: '999' }] });
  expect(purged).toEqual({
    errors: [],
    warnings: {
      [leased?.id as string]: expect.stringMatching(/has pulled/),
      999: expect.stringMatching(/no message/),
    },
  });
  expect(await task(other.id)).toMatchObject({ state: 'cancelled' });
  expect(await peek()).toEqual([]);
});

test("an error is of the client's class, with Cloudflare's code", async () => {
  await push('errors', 1);
  const [pulled] = await pull('errors');
  const acks = leaseIds([pulled as Message]);
  const foreign = connectWith(await tock.makeKey(['enqueue', 'claim', 'read'], ['other']));
  const unknown = connectWith('tock_00000000_x');
  const code = (number: number) => [{ code: number, message: expect.any(String) }];
  for (const { queues } of [foreign, unknown]) {
    const status = queues === unknown.queues ? 401 : 403;
    const errors = code(status === 401 ? 10000 : 10106);
    const refused = expect.objectContaining({ status, errors });
    const its = queues.messages;
    await expect(its.push('errors', { account_id, body: 2 })).rejects.toEqual(refused);
    await expect(its.bulkPush('errors', { account_id })).rejects.toEqual(refused);
    await expect(its.pull('errors', { account_id })).rejects.toEqual(refused);
    await expect(its.ack('errors', { account_id, acks })).rejects.toEqual(refused);
    await expect(its.peek('errors', { account_id })).rejects.toEqual(refused);
    const refs = [{ ref: pulled?.id }];
    await expect(its.purge('errors', { account_id, refs })).rejects.toEqual(refused);
  }
  await expect(unknown.queues.messages.ack('errors', { account_id })).rejects.toMatchObject({
    status: 401,
  });
  expect(await task(pulled?.id as string)).toMatchObject({ state: 'running' });
  const tooMany = messages.pull('errors', { account_id, batch_size: 101 });
  await expect(tooMany).rejects.toMatchObject({ status: 400, errors: code(10207) });
  await expect(connectWith(tock.key).queues.list({ account_id })).rejects.toMatchObject({
    status: 404,
    errors: code(7003),
  });
});

test('an acknowledgement that is refused after a part of it was done says what was done', async () => {
  await push('allowed', 1);
  await push('forbidden', 2);
  const [mine] = await pull('allowed');
  const [other] = await pull('forbidden');
  const limited = connectWith(await tock.makeKey(['claim'], ['allowed'])).queues.messages;
  const acks = leaseIds([mine, other] as Message[]);
  expect(await limited.ack('allowed', { account_id, acks })).toEqual({
    ackCount: 1,
    retryCount: 0,
    warnings: { [other?.lease_id as string]: expect.stringMatching(/not for that queue/) },
  });
  expect(await task(other?.id as string)).toMatchObject({ state: 'running' });
});
