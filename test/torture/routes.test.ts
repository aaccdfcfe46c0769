import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createApp } from '../../functions/http/app.ts';

const folder = join(import.meta.dirname, '../../scripts/torture');

/** What the torture's clients ask for, as written in their files, without what comes after a question mark. */
const asked = readdirSync(folder)
  .flatMap((file) => readFileSync(join(folder, file), 'utf8').match(/['`]\/v1\/[^'`]*['`]/g) ?? [])
  .map((text) =>
    text
      .slice(1, -1)
      .replace(/\?.*/, '')
      .replace(/\$\{[^}]*\}/g, '{}'),
  );

const parts = (path: string) => path.split('/');
const fits = (route: string, one: string) =>
  parts(route).length === parts(one).length &&
  parts(route).every((part, at) => /^\{/.test(part) || ['{}', part].includes(parts(one)[at] ?? ''));

/** Pools are names without tasks; the others read, or change what the account goes by. */
const apart = [
  '/metrics',
  '/v1/archive',
  '/v1/archive/end',
  '/v1/archive/step',
  '/v1/archive/tasks',
  '/v1/health',
  '/v1/next-fires',
  ...['', '/assign', '/assign-all', '/take', '/tasks', '/unassign', '/workers/{worker}'].map(
    (rest) => `/v1/pools/{pool}${rest}`,
  ),
  '/v1/queues/{queue}/claim-own',
  '/v1/queues/{queue}/limits/reset',
  '/v1/queues/{queue}/push-secret',
  '/v1/queues/{queue}/push-secret/rotate',
  '/v1/schedules/{schedule}/pause',
  '/v1/schedules/{schedule}/resume',
  '/v1/tasks/{id}/parents',
  '/v1/tasks/{id}/payload',
];

test('the torture asks for every route but those named here', async () => {
  const app = createApp(() => Promise.reject(new Error('no database')));
  const document = (await (await app.request('/openapi.json')).json()) as { paths: object };
  const left = Object.keys(document.paths).filter(
    (route) => !asked.some((one) => fits(route, one)),
  );
  expect(left.sort()).toEqual(apart);
});
