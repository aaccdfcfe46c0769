import { readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { checkout } from '../../scripts/stack/paths.ts';
import { run } from '../../scripts/stack/run.ts';
import { type Database, freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
import { conditionTimeout } from '../timeout.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';
import { copyExample } from './copy.ts';

let db: Database;
let tock: Tock;
let rates: Server;
let served: Served;
let folder: string;

/** Bundles the example as `wrangler deploy` does, with the files in its folder only. */
async function bundled(): Promise<string> {
  const wrangler = join(checkout, 'node_modules', '.bin', 'wrangler');
  await run([process.execPath, wrangler, 'deploy', '--dry-run', '--outdir', 'out'], {
    cwd: folder,
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', XDG_CONFIG_HOME: folder },
  });
  return readFileSync(join(folder, 'out', 'index.js'), 'utf8');
}

beforeAll(async () => {
  folder = await copyExample('worker-consumer', ['valibot']);
  db = await freshDatabase();
  const owner = await db.connect();
  await (await db.connect(db.superUrl)).query(readFileSync(join(folder, 'setup.sql'), 'utf8'));
  rates = createServer(({ url }, response) => {
    const status = { '/usd': 200, '/xxx': 404 }[url ?? ''] ?? 429;
    response.writeHead(status).end('{"rate": 0.5}');
  });
  await new Promise<void>((resolve) => rates.listen(0, '127.0.0.1', resolve));
  const RATES_URL = `http://127.0.0.1:${(rates.address() as AddressInfo).port}`;
  served = await serveBundle(await bundled(), {
    DATABASE_URL: db.poolUrl ?? db.edgeUrl,
    RATES_URL,
  });
  const key = await value<string>(owner, "select key from tock.create_key('k', '{enqueue,read}')");
  tock = createTock({ url: served.url, key });
});
afterAll(async () => {
  await served?.stop();
  rates?.close();
  rmSync(folder, { recursive: true });
  await db?.drop();
});

test('a Worker writes an invoice for each order, once', async () => {
  const order = (order_id: number, currency: string) => ({ order_id, cents: 201, currency });
  // The third order is the same as the first one.
  const orders = [order(1, 'usd'), order(2, 'usd'), order(1, 'usd'), order(3, 'xxx')];
  const payloads = [...orders, { ...order(5, 'usd'), cents: 0 }, order(4, 'yyy')];
  const tasks = payloads.map((payload) => ({ payload }));
  const ids = await tock.enqueueMany('invoices', tasks);
  const busy = ids.pop() as string;
  const ended = await Promise.all(ids.map((id) => tock.task(id, { wait_seconds: 30 })));
  expect(ended).toMatchObject([
    ...Array(3).fill({ state: 'done', attempt: 1 }),
    { state: 'dead', error: { message: 'there is no rate for xxx' } },
    { state: 'dead', error: { message: expect.stringMatching(/^payload\.cents: /) } },
  ]);
  await vi.waitUntil(async () => (await tock.task(busy))?.state === 'waiting', conditionTimeout);
  const { rows } = await (await db.connect(db.superUrl)).query(
    'select * from shop.invoices order by 1',
  );
  expect(rows).toEqual([
    { order_id: '1', euro_cents: 101 },
    { order_id: '2', euro_cents: 101 },
  ]);
});
