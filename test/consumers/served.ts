import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type pg from 'pg';
import { vi } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { bundle } from '../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../database.ts';
import { conditionTimeout } from '../timeout.ts';
import { startTappedProxy, type TappedProxy } from '../worker/proxy.ts';
import { type Served, serveBundle } from '../worker/workerd.ts';

/** test/consumers/worker.ts in workerd, with a proxy to the database and a listener that its handlers call. */
export type ConsumerWorker = {
  database: Database;
  owner: pg.Client;
  proxy: TappedProxy;
  tock: Tock;
  /** A request to the Worker. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /** The paths that handlers have called, `/point/id`, in order. */
  reports: string[];
  /** Calls `hear` with each path before the listener answers. */
  onTold(hear: (path: string) => unknown): void;
  start(): Promise<void>;
  kill(): Promise<void>;
  scheduled(): Promise<Response>;
  close(): Promise<void>;
};

export async function startConsumerWorker(storage?: string): Promise<ConsumerWorker> {
  const [{ code }, database] = await Promise.all([
    bundle('test/consumers/worker.ts'),
    freshDatabase(),
  ]);
  const owner = await database.connect();
  const { rows } = await owner.query(
    "select key from tock.create_key(p_name => 'k', p_scopes => array['enqueue', 'claim', 'read', 'admin'])",
  );
  const reports: string[] = [];
  let hear: Parameters<ConsumerWorker['onTold']>[0] = () => {};
  const listener = createServer(async (request, response) => {
    reports.push(request.url ?? '');
    await hear(request.url ?? '');
    response.end();
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const LISTENER = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const tapped = await startTappedProxy(database.poolUrl ?? database.edgeUrl);
  let served: Served | null = null;
  const fetchOf = (path: string, init?: RequestInit) => fetch(`${served?.url}${path}`, init);
  const tock = createTock({
    url: 'http://tock',
    key: rows[0].key,
    retries: 0,
    fetch: (url, init) => fetchOf(new URL(url).pathname + new URL(url).search, init),
  });
  const kill = async () => {
    const was = served;
    served = null;
    await was?.stop();
  };
  return {
    database,
    owner,
    proxy: tapped,
    tock,
    fetch: fetchOf,
    reports,
    onTold(callback) {
      hear = callback;
    },
    async start() {
      served = await serveBundle(code, { DATABASE_URL: tapped.url, LISTENER }, storage);
      await vi.waitUntil(() => fetchOf('/openapi.json').catch(() => null), {
        timeout: conditionTimeout,
      });
    },
    kill,
    scheduled: () => fetchOf('/scheduled'),
    async close() {
      await kill();
      tapped.close();
      listener.closeAllConnections();
      listener.close();
      await database.drop();
    },
  };
}
