import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createApp } from '../../functions/http/app.ts';

const app = createApp(() => Promise.reject(new Error('The page needs no database.')));

test('the scripts of the page are sent compressed by Node', async () => {
  const page = await (await app.request('/')).text();
  const [path = ''] = page.match(/dashboard\/app\.\w+\.js/) ?? [];
  const plain = await (await app.request(`/${path}`)).text();
  const headers = { 'accept-encoding': 'gzip' };
  const answer = await app.request(`/${path}`, { headers });
  expect(answer.headers.get('content-encoding')).toBe('gzip');
  expect(answer.headers.get('cache-control')).toContain('immutable');
  const bytes = Buffer.from(await answer.arrayBuffer());
  expect(gunzipSync(bytes).toString()).toBe(plain);
  expect(bytes.length).toBeLessThan(150_000);
});
