import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { prepare, testCluster } from '../../test/cluster.ts';
import { softly } from '../stack/say.ts';

/**
 * A cluster of the soak's own, with pg_cron and PgBouncer where the host has them. `through` may put
 * something between these two.
 */
export async function openStack(through = async (port: number) => port) {
  const made = await testCluster('tock', softly);
  const { cluster, passwords } = made;
  const { host } = cluster;
  const as = (role: string, word: string, port = cluster.port) =>
    `postgres://${role}:${word}@127.0.0.1:${port}/tock`;
  const ownerUrl = as('tock', passwords.owner);
  await prepare(ownerUrl, passwords.edge);
  const serverPort = await through(cluster.port);
  let pooler = host.pgbouncer ? await made.pool({ postgresPort: serverPort }) : null;

  async function connect(url = ownerUrl, seconds = 90): Promise<pg.Client> {
    // Nothing waits for ever for a server that was killed.
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5000,
      query_timeout: seconds * 1000,
      application_name: `soak ${randomBytes(3).toString('hex')}`,
    });
    client.on('error', () => {});
    await client.connect();
    return client;
  }

  return {
    host,
    ownerUrl,
    poolerPort: pooler?.port ?? cluster.port,
    edgePassword: passwords.edge,
    superUrl: cluster.url('tock'),
    /** As tock_edge through the pooler, in whose stead comes the owner's way. */
    pooledUrl: pooler ? as('tock_edge', passwords.edge, pooler.port) : ownerUrl,
    log: `${host.folder}/postgres.log`,
    connect,
    async restartServer(): Promise<void> {
      await cluster.kill9();
      await cluster.start();
    },
    async restartPooler(): Promise<boolean> {
      if (!pooler) return false;
      await host.kill9(pooler.pid);
      await pooler.ended;
      pooler = await made.pool({ postgresPort: serverPort });
      return true;
    },
    close: made.close,
  };
}

export type Stack = Awaited<ReturnType<typeof openStack>>;
