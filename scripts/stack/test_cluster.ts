import { randomBytes } from 'node:crypto';
import { migrate } from '../../migrate/migrate.ts';
import { type Cluster, cluster } from './cluster.ts';
import { openHost } from './open_host.ts';
import { type Pooler, type PoolerOptions, startPooler } from './pooler.ts';
import { anyPort } from './ports.ts';
import { enableEdgeLogin, makeCron, makeDatabase, makeOwner } from './roles.ts';
import type { StepReporter } from './step_reporter.ts';

export type Passwords = { owner: string; edge: string };

export type TestCluster = {
  cluster: Cluster;
  passwords: Passwords;
  /** Starts a PgBouncer for all databases of the cluster. A further call replaces it, with other settings if given. */
  pool(
    more?: Partial<Pick<PoolerOptions, 'ends' | 'settings' | 'mode' | 'postgresPort'>>,
  ): Promise<Pooler>;
  close(): Promise<void>;
};

let count = 0;

/**
 * Starts a private cluster with the role tock and the database `cronDatabase`, which has pg_cron if the host has it.
 * TOCK_TEST_POSTGRES sets the version of PostgreSQL.
 */
export async function testCluster(
  cronDatabase: string,
  reporter: StepReporter,
): Promise<TestCluster> {
  const ports = [await anyPort(), await anyPort()] as const;
  const name = `test-${process.pid}-${++count}`;
  const host = await openHost({ name, ports: [...ports], reporter, kept: false });
  const word = () => randomBytes(12).toString('hex');
  const log = `${host.folder}/postgres.log`;
  const options = { port: ports[0], password: word(), cronDatabase, log };
  const passwords = { owner: word(), edge: word() };
  const createdCluster = cluster(host, options);
  let pooler: Pooler | null = null;
  async function close(): Promise<void> {
    await pooler?.stop();
    await createdCluster.stop();
    await host.remove(host.folder);
    await host.close?.();
  }
  try {
    await createdCluster.start();
    await makeOwner(createdCluster.url(), passwords.owner);
    await makeDatabase(createdCluster.url(), cronDatabase);
    if (host.cron) await makeCron(createdCluster.url(cronDatabase));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    cluster: createdCluster,
    passwords,
    async pool(more) {
      const users = {
        tock: passwords.owner,
        tock_edge: passwords.edge,
        // The role of an application, which a test creates.
        shop: passwords.edge,
        postgres: options.password,
      };
      const files = { postgresPort: createdCluster.port, log: `${host.folder}/pgbouncer.log` };
      await pooler?.stop();
      pooler = await startPooler(host, { port: ports[1], users, ...files, ...more });
      return pooler;
    },
    close,
  };
}

/** Migrates as the role tock, and lets tock_edge log in. */
export async function prepare(ownerUrl: string, edgePassword: string): Promise<void> {
  // test/mutants/run.ts sets this variable to a changed copy of sql/.
  await migrate(ownerUrl, { directory: process.env.TOCK_SQL_DIRECTORY });
  await enableEdgeLogin(ownerUrl, edgePassword);
}
