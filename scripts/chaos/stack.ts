import pg from 'pg';
import { devKey } from '../stack/key.ts';
import { anyPort } from '../stack/ports.ts';
import { softly } from '../stack/step_reporter.ts';
import { prepare, testCluster } from '../stack/test_cluster.ts';
import { healthy, startWorker } from '../stack/worker.ts';
import type { Target } from './drivers/open.ts';
import { type Link, links, type NetworkFault } from './faults/plan.ts';
import { openProxy } from './faults/proxy.ts';

/**
 * Starts all that `npm start` starts, with a proxy between each pair of client, workerd, PgBouncer and PostgreSQL. SQL
 * clients need no workerd.
 */
export async function openStack(driver: Target['driver'], seed: number, stopping: AbortSignal) {
  const created = await testCluster('tock', softly);
  const { cluster, passwords } = created;
  const { host } = cluster;
  const as = (role: string, word: string, port: number) =>
    `postgres://${role}:${word}@127.0.0.1:${port}/tock`;
  const ownerUrl = as('tock', passwords.owner, cluster.port);
  const superUrl = cluster.url('tock');
  await prepare(ownerUrl, passwords.edge);
  const toServer = await openProxy(cluster.port, seed * 3);
  const startPooler = () => created.pool({ postgresPort: toServer.port });
  let pooler = host.pgbouncer ? await startPooler() : null;
  const toPooler = await openProxy(pooler?.port ?? cluster.port, seed * 5);
  const workerPort = await anyPort();
  const toWorker = await openProxy(workerPort, seed * 7);
  const proxies = [toWorker, toPooler, toServer];

  async function connect(url = ownerUrl, seconds = 90): Promise<pg.Client> {
    // The timeouts keep statements from waiting forever for a killed server.
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 30_000,
      query_timeout: seconds * 1000,
      application_name: 'chaos harness',
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  const client = await connect(superUrl);
  // With this setting an autovacuum process exists that a fault can kill.
  await client.query("alter system set autovacuum_naptime = '1s'");
  await client.query('select pg_reload_conf()');
  await client.end();

  const edge = (port: number) => as('tock_edge', passwords.edge, port);
  const start = () =>
    startWorker(workerPort, edge(toPooler.port), { name: `chaos-${process.pid}` });
  let worker = driver === 'http' ? start() : null;
  // A start may take minutes on a busy machine and during faults.
  const serving = async () =>
    worker && healthy(`http://127.0.0.1:${workerPort}`, worker, stopping, 600);
  await serving();
  let restarted: Promise<unknown> = Promise.resolve();
  const target: Target =
    driver === 'http'
      ? { driver, url: `http://127.0.0.1:${toWorker.port}`, key: await devKey(ownerUrl) }
      : { driver, urls: [as('tock', passwords.owner, toServer.port), edge(toPooler.port)] };

  return {
    host,
    ownerUrl,
    superUrl,
    /** The URL of tock_edge at the pooler, without a proxy. */
    pooledUrl: edge(pooler?.port ?? cluster.port),
    log: `${host.folder}/postgres.log`,
    connect,
    /** The target of the load, through the proxies. */
    target,
    tear: (link: Link, fault: NetworkFault | null): void =>
      proxies[links.indexOf(link)]?.tear(fault),
    /** The number of answers and connections that the proxy changed. */
    spoilt: (link: Link) => proxies[links.indexOf(link)]?.spoilt() ?? 0,
    async restartServer(): Promise<void> {
      await cluster.kill9();
      await cluster.start();
    },
    async restartPooler(): Promise<void> {
      if (!pooler) return;
      await host.kill9(pooler.pid);
      await pooler.ended;
      pooler = await startPooler();
    },
    /** Kills wrangler and workerd (one process group), one kill at a time. Resolves when new ones answer. */
    restartWorkerd(): Promise<void> {
      const next = restarted.then(async () => {
        if (!worker) return;
        process.kill(-worker.pid, 'SIGKILL');
        await worker.ended;
        worker = start();
        await serving();
      });
      restarted = next.catch(() => {});
      return next;
    },
    async close(): Promise<void> {
      await worker?.stop();
      for (const proxy of proxies) proxy.close();
      await created.close();
    },
  };
}

export type ChaosStack = Awaited<ReturnType<typeof openStack>>;
