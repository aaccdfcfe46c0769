import { expect, test } from 'vitest';
import type { Bindings } from '../../functions/env.ts';
import { createApp } from '../../functions/http/app.ts';

// The statement only checks the key.
const app = createApp((_env, use) => use(async () => [{ body: '{"links":[]}' }]));

async function answerTo(env: Bindings) {
  const headers = { authorization: 'Bearer tock_00000000_0' };
  const answer = await app.request('/v1/links', { headers }, env);
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
const linksOf = (TOCK_TASK_LINKS: string) => answerTo({ TOCK_TASK_LINKS });

const one = (url: unknown) => JSON.stringify([{ name: 'Logs', url }]);

test('the links of a Worker are those of its setting, none without it', async () => {
  const none = { status: 200, body: { task_links: [], installations: [] } };
  expect(await answerTo({})).toEqual(none);
  expect(await linksOf('')).toEqual(none);
  for (const url of [
    'https://logs.example/?q={id}+{queue}+{tenant}',
    'http://localhost:3000/t/{trace_id}#{payload.order-id}',
    'https://a.example:8443/{unique_key}/{concurrency_key}',
  ]) {
    const answer = await linksOf(one(url));
    expect(answer.body).toEqual({ task_links: [{ name: 'Logs', url }], installations: [] });
  }
});

test('a link that is no web address, or whose host a task could choose, is refused with its place', async () => {
  for (const url of [
    'javascript:alert(1)',
    'java\nscript:alert(1)',
    '//logs.example',
    'https://{queue}.example/',
    'https://logs.example{id}',
    'https://logs.example\\@{tenant}',
    'https://user@logs.example/',
    'https://logs.example/ {id}',
    1,
  ]) {
    const { status, body } = await linksOf(one(url));
    expect([status, body.detail], String(url)).toEqual([
      503,
      expect.stringMatching(/^TOCK_TASK_LINKS\[0\]\.url: /),
    ]);
  }
  const { body } = await linksOf(one('https://logs.example/{secret}'));
  expect(body.detail).toBe(
    'TOCK_TASK_LINKS[0].url: the placeholders are {id}, {queue}, {tenant}, {unique_key}, {concurrency_key}, {trace_id} and {payload.FIELD}.',
  );
  expect((await linksOf('[{')).body.detail).toBe('TOCK_TASK_LINKS is not JSON.');
  expect((await linksOf('{}')).body.detail).toMatch(/^TOCK_TASK_LINKS: /);
  expect((await linksOf('[{"name": "x"}]')).body.detail).toMatch(/^TOCK_TASK_LINKS\[0\]\.url: /);
});

test('other installations are web addresses without placeholders', async () => {
  const url = 'https://staging.example/tock/';
  const installed = (to: string) => answerTo({ TOCK_INSTALLATIONS: one(to) });
  expect((await installed(url)).body.installations).toEqual([{ name: 'Logs', url }]);
  for (const bad of ['javascript:alert(1)', 'staging.example', 'https://{id}.example/'])
    expect((await installed(bad)).body.detail).toMatch(/^TOCK_INSTALLATIONS\[0\]\.url: https:/);
});
