import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, service } from '../../http/service.ts';
import { account_id, type Client, clientOptions, loadCloudflare } from './client.ts';

// What the client's tests/api-resources/queues/messages.test.ts does with a mock server, done with Tock.

let tock: Service;
const clients: Record<string, Client> = {};

beforeAll(async () => {
  const load = await loadCloudflare();
  tock = await service();
  const options = {
    ...clientOptions(tock, 'http://tock.example'),
    apiKey: tock.key,
    apiEmail: 'user@example.com',
  };
  const { createClient } = load('cloudflare/tree-shakable');
  const { BaseMessages } = load('cloudflare/resources/queues/messages');
  const { Queues } = load('cloudflare/resources/queues/queues');
  clients.whole = new (load('cloudflare').default)(options);
  clients.base = createClient({ ...options, resources: [BaseMessages] });
  clients.subresource = createClient({ ...options, resources: [Queues] });
});
afterAll(() => tock.database.drop());

const queue = '023e105f4ecef8ad9ca31a8372d0c353';
const foreignId = `${'x'.repeat(49)}..${'y'.repeat(22)}.${'z'.repeat(43)}.${'w'.repeat(43)}`;
const refs = [{ ref: foreignId }];

type Method = keyof Client['queues']['messages'];

const cases: [Method, required: object, optional: object][] = [
  [
    'ack',
    {},
    { acks: [{ lease_id: foreignId }], retries: [{ delay_seconds: 10, lease_id: foreignId }] },
  ],
  [
    'bulkPush',
    {},
    { delay_seconds: 0, messages: [{ body: 'body', content_type: 'text', delay_seconds: 0 }] },
  ],
  ['peek', {}, { batch_size: 50 }],
  ['pull', {}, { batch_size: 50, visibility_timeout_ms: 6000 }],
  ['purge', { refs }, { refs }],
  ['push', {}, { body: 'body', content_type: 'text', delay_seconds: 0 }],
];

describe.each(['whole', 'base', 'subresource'])('resource messages (%s client)', (name) => {
  const messages = () => (clients[name] as Client).queues.messages;

  test.each(cases)('%s: only required params', async (method, required) => {
    const promise = messages()[method](queue, { account_id, ...required });
    const raw = await promise.asResponse();
    expect(raw).toBeInstanceOf(Response);
    const response = await promise;
    expect(response).not.toBeInstanceOf(Response);
    const dataAndResponse = await promise.withResponse();
    expect(dataAndResponse.data).toBe(response);
    expect(dataAndResponse.response).toBe(raw);
  });

  test.each(cases)('%s: required and optional params', async (method, _required, optional) => {
    expect(await messages()[method](queue, { account_id, ...optional })).toEqual(
      expect.any(Object),
    );
  });
});
