import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { prepare, testCluster } from '../../test/cluster.ts';
import { type Served, serveBundle } from '../../test/worker/workerd.ts';
import { bundle } from '../bundle.ts';
import { type Pooler, startPooler } from '../stack/pooler.ts';
import { anyPort } from '../stack/ports.ts';
import { softly } from '../stack/say.ts';
import { ways } from './plan.ts';
import { type Harm, openWay, type Way } from './proxy.ts';

/** Server, PgBouncer and workerd of the torture's own, with a way that can be harmed before each. `workerd` is a file for what that prints. */
export async function openStack(workerd: number, harmed: (kind: string) => void) {
  const [{ code }, made] = await Promise.all([bundle(), testCluster('tock', softly)]);
  const { cluster, passwords } = made;
  const { host } = cluster;
  const ownerUrl = `postgres://tock:${passwords.owner}@127.0.0.1:${cluster.port}/tock`;
  await prepare(ownerUrl, passwords.edge);

  const told = (place: number) => (kind: Harm) => harmed(`${kind}, ${ways[place]}`);
  const database = await openWay(cluster.port, told(2));
  const poolPort = host.pgbouncer ? await anyPort() : cluster.port;
  const pool = await openWay(poolPort, told(1));
  const edge = await openWay(0, told(0));
  const startPool = () =>
    startPooler(host, {
      port: poolPort,
      // From inside a container that way can't be reached.
      postgresPort: host.local ? database.port : cluster.port,
      users: { tock_edge: passwords.edge },
      log: `${host.folder}/pgbouncer.log`,
    });
  // npm's PostgreSQL has none beside it: then workerd is the server's own client.
  let pooler: Pooler | null = host.pgbouncer ? await startPool() : null;
  let served: Served;
  const url = `http://127.0.0.1:${edge.port}`;

  async function startEdge(): Promise<void> {
    const DATABASE_URL = `postgres://tock_edge:${passwords.edge}@127.0.0.1:${pool.port}/tock`;
    served = await serveBundle(code, { DATABASE_URL }, undefined, workerd);
    edge.aim(served.port);
    for (;;) {
      const answer = await fetch(`${served.url}/openapi.json`).catch(() => null);
      if (answer?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  await startEdge();

  return {
    host,
    url,
    ownerUrl,
    superUrl: cluster.url('tock'),
    pooledUrl: `postgres://tock_edge:${passwords.edge}@127.0.0.1:${poolPort}/tock`,
    log: `${host.folder}/postgres.log`,
    ways: [edge, pool, database] as [Way, Way, Way],
    /** A connection for which nothing waits for ever. */
    async connect(to = ownerUrl, seconds = 60): Promise<pg.Client> {
      const client = new pg.Client({
        connectionString: to,
        connectionTimeoutMillis: 5000,
        query_timeout: seconds * 1000,
        application_name: `torture ${randomBytes(3).toString('hex')}`,
      });
      client.on('error', () => {});
      await client.connect();
      return client;
    },
    async killServer(): Promise<void> {
      await cluster.kill9();
      await cluster.start();
    },
    async killPooler(): Promise<void> {
      if (!pooler) return;
      await host.kill9(pooler.pid);
      await pooler.ended;
      pooler = await startPool();
    },
    async killEdge(): Promise<void> {
      await served.stop();
      await startEdge();
    },
    async close(): Promise<void> {
      await served.stop();
      await pooler?.stop();
      for (const way of [edge, pool, database]) way.close();
      await made.close();
    },
  };
}

export type Stack = Awaited<ReturnType<typeof openStack>>;
