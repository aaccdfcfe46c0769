import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createTock, type Tock } from '../../client/index.ts';
import { bundle } from '../../scripts/bundle.ts';
import { type Database, freshDatabase } from '../database.ts';
import { value } from '../sql/verbs.ts';
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

async function startConsumerWorker(storage?: string): Promise<ConsumerWorker> {
  const [{ code }, database] = await Promise.all([
    bundle('test/consumers/worker.ts'),
    freshDatabase(),
  ]);
  const owner = await database.connect();
  const key = await value<string>(
    owner,
    "select key from tock.create_key('k', '{enqueue,claim,read,admin}')",
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
    key,
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

/** The Worker of the test file, which useConsumerWorker() starts before its tests. */
export let there: ConsumerWorker;

/** Its database has a table `public.effects`. With `alarm` it has a Durable Object. */
export function useConsumerWorker({ alarm = false } = {}): void {
  const storage = alarm ? mkdtempSync(join(tmpdir(), 'tock-alarm-')) : undefined;
  beforeAll(async () => {
    there = await startConsumerWorker(storage);
    await there.owner.query('create table public.effects (task bigint)');
    await there.owner.query('grant insert on public.effects to tock_edge');
    await there.start();
  });
  beforeEach(() => {
    there.reports.length = 0;
    there.onTold(() => {});
  });
  afterAll(async () => {
    await there?.close();
    if (storage) rmSync(storage, { recursive: true, force: true });
  });
}
