import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, test, vi } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { bundle } from '../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../database.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';

let code: string;
let database: Database;
let served: Served;
let tock: Tock;
const seen: { path: string; at: number }[] = [];
const listener = createServer((request, response) => {
  seen.push({ path: request.url ?? '', at: performance.now() });
  response.end();
});

beforeAll(async () => {
  code = (await bundle('test/consumers/worker.ts')).code;
  database = await freshDatabase();
  const owner = await database.connect();
  const { rows } = await owner.query(
    "select key from tock.create_key(p_name => 'k', p_scopes => array['enqueue', 'claim', 'read'])",
  );
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const { port } = listener.address() as AddressInfo;
  served = await serveBundle(code, {
    DATABASE_URL: database.poolUrl ?? database.edgeUrl,
    LISTENER: `http://127.0.0.1:${port}`,
  });
  await vi.waitUntil(() => fetch(served.url).catch(() => null), { timeout: 20_000 });
  tock = createTock({ url: served.url, key: rows[0].key });
});
afterAll(async () => {
  await served?.stop();
  await database?.drop();
  listener.close();
});

test('a task is begun right after it was enqueued', async () => {
  const found: number[] = [];
  for (let n = 0; n < 50; n++) {
    const sent = performance.now();
    const id = await tock.enqueue('quick', n);
    await vi.waitUntil(() => seen.some(({ path }) => path === `/quick/${id}`), { interval: 1 });
    found.push((seen.find(({ path }) => path === `/quick/${id}`)?.at ?? 0) - sent);
    await new Promise((r) => setTimeout(r, 30));
  }
  console.log(found.map(Math.round).join(' '));
});
