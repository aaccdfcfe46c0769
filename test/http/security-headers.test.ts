import { expect, test, vi } from 'vitest';
import type { Connect } from '../../functions/database/types.ts';
import { createApp } from '../../functions/http/app.ts';

vi.spyOn(console, 'error').mockImplementation(() => {});

const failing = (code?: string): Connect => {
  return () => Promise.reject(Object.assign(new Error('no'), { code }));
};
const app = createApp((_env, use) => use(async () => [{ body: '{}' }]));
const key = { authorization: 'Bearer tock_1' };
const json = { ...key, 'content-type': 'application/json' };
const post = (body: string, headers: Record<string, string> = json) => ({
  method: 'POST',
  headers,
  body,
});

type Asked = [status: number, path: string, init?: RequestInit, connect?: Connect];

const answers: Asked[] = [
  [200, '/v1/queues', { headers: key }],
  [200, '/v1/health'],
  [200, '/openapi.json'],
  [201, '/v1/queues/q/tasks', post('{}')],
  [204, '/v1/queues/q/tasks', { method: 'OPTIONS', headers: { origin: 'https://a.example' } }],
  [400, '/v1/queues/q/tasks', post('{')],
  [401, '/v1/queues'],
  [404, '/nothing'],
  [405, '/v1/queues', { method: 'PATCH' }],
  [413, '/v1/queues/q/tasks', post('{}', { ...json, 'content-length': '9999999' })],
  [414, `/v1/queues?x=${'x'.repeat(9000)}`],
  [415, '/v1/queues/q/tasks', post('{}', { ...key, 'content-type': 'text/plain' })],
  [422, '/v1/queues/q/tasks', post('{"priority": 99}')],
  [500, '/v1/queues', { headers: key }, failing()],
  [503, '/v1/queues', { headers: key }, failing('08006')],
];

test.each(answers)(
  'the headers of an answer with status %i let a browser treat it only as data',
  async (...settings) => {
    const [status, path, init, connect] = settings;
    const of = connect ? createApp(connect) : app;
    const bindings = { TOCK_ORIGINS: 'https://a.example' };
    for (const place of ['http://tock.example', 'https://tock.example']) {
      const reply = await of.request(`${place}${path}`, init, bindings);
      expect(reply.status).toBe(status);
      const { headers } = reply;
      expect(Object.fromEntries(headers)).toMatchObject({
        'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
        'cross-origin-resource-policy': 'same-origin',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'cache-control': 'no-store',
        'x-request-id': expect.stringMatching(/^[\w-]+$/),
        vary: expect.stringContaining('Origin'),
      });
      const strict = headers.get('strict-transport-security');
      expect(strict).toBe(place.startsWith('https') ? 'max-age=31536000' : null);
    }
  },
);
