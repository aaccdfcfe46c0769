import { expect, test } from 'vitest';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';

// No request of this file reaches the database.
const app = createApp((_env, use) => use(async () => []));
const path = '/v1/queues/q/tasks';
const listed: Bindings = { TOCK_ORIGINS: 'https://a.example, https://b.example' };

const asked = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'authorization,content-type',
};

/** The request that a browser sends before it allows a page's call. */
const preflight = (origin: string, env: Bindings) =>
  app.request(path, { method: 'OPTIONS', headers: { origin, ...asked } }, env);

test('a page of a listed origin may use the methods there are and read Retry-After, without cookies', async () => {
  for (const origin of ['https://a.example', 'https://b.example']) {
    const answer = await preflight(origin, listed);
    expect(answer.status).toBe(204);
    const { headers } = answer;
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('access-control-allow-methods')).toBe('GET,HEAD,POST,PUT,PATCH,DELETE');
    expect(headers.get('access-control-allow-headers')).toMatch(/authorization,content-type/i);
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('access-control-allow-private-network')).toBeNull();
    expect(headers.get('access-control-max-age')).toBe('7200');
    expect(headers.get('vary')).toContain('Origin');
    const reply = await app.request(path, { method: 'POST', headers: { origin } }, listed);
    expect(reply.status).toBe(401);
    expect(reply.headers.get('access-control-allow-origin')).toBe(origin);
    expect(reply.headers.get('access-control-expose-headers')).toMatch(/Retry-After/);
  }
});

test('an origin may be listed with a path', async () => {
  for (const TOCK_ORIGINS of ['https://a.example/', ' https://A.example ,']) {
    const { headers } = await preflight('https://a.example', { TOCK_ORIGINS });
    expect(headers.get('access-control-allow-origin')).toBe('https://a.example');
  }
});

test('pages of other origins may not call, and no page may if none is listed', async () => {
  const strangers: [string, Bindings][] = [
    ['https://c.example', listed],
    ['https://a.example.evil', listed],
    ['https://a.example', {}],
    ['null', listed],
  ];
  for (const [origin, env] of strangers) {
    const answer = await preflight(origin, env);
    expect(answer.status).toBe(405);
    const reply = await app.request(path, { method: 'POST', headers: { origin } }, env);
    for (const { headers } of [answer, reply]) {
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  }
});

test('an origin `null` and a listed * allow no page', async () => {
  for (const TOCK_ORIGINS of ['null', '*', 'null, *', 'https://*.example', '']) {
    for (const origin of ['null', '*', 'https://a.example', '']) {
      const answer = await preflight(origin, { TOCK_ORIGINS });
      expect(answer.status).toBe(405);
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
  }
});
