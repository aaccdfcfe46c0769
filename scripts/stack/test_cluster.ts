import { randomBytes } from 'node:crypto';
import { migrate } from '../../migrate/migrate.ts';
import { type Cluster, cluster } from './cluster.ts';
import { type Pooler, type PoolerOptions, startPooler } from './pooler.ts';
import { anyPort } from './ports.ts';
import { makeCron, makeDatabase, makeOwner, openEdge } from './roles.ts';
import type { Say } from './say.ts';
import { openHost } from './source.ts';

export type Passwords = { owner: string; edge: string };

export type TestCluster = {
  cluster: Cluster;
  passwords: Passwords;
  /** A PgBouncer over all its databases, where the host has one; by another call otherwise set. */
  pool(
    more?: Partial<Pick<PoolerOptions, 'ends' | 'settings' | 'mode' | 'postgresPort'>>,
  ): Promise<Pooler>;
  close(): Promise<void>;
};

let count = 0;

/**
 * A private cluster, started, with the role tock and the database `cronDatabase`, in which pg_cron is
 * where the host has it. TOCK_TEST_POSTGRES says which version of PostgreSQL it is.
 */
export async function testCluster(cronDatabase: string, say: Say): Promise<TestCluster> {
  const ports = [await anyPort(), await anyPort()] as const;
  const name = `test-${process.pid}-${++count}`;
  const host = await openHost({ name, ports: [...ports], say, kept: false });
  const word = () => randomBytes(12).toString('hex');
  const log = `${host.folder}/postgres.log`;
  const options = { port: ports[0], password: word(), cronDatabase, log };
  const passwords = { owner: word(), edge: word() };
  const made = cluster(host, options);
  let pooler: Pooler | null = null;
  async function close(): Promise<void> {
    await pooler?.stop();
    await made.stop();
    await host.remove(host.folder);
    await host.close?.();
  }
  try {
    await made.start();
    await makeOwner(made.url(), passwords.owner);
    await makeDatabase(made.url(), cronDatabase);
    if (host.cron) await makeCron(made.url(cronDatabase));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    cluster: made,
    passwords,
    async pool(more) {
      const users = {
        tock: passwords.owner,
        tock_edge: passwords.edge,
        // An application's role, which a test makes.
        shop: passwords.edge,
        postgres: options.password,
      };
      const files = { postgresPort: made.port, log: `${host.folder}/pgbouncer.log` };
      await pooler?.stop();
      pooler = await startPooler(host, { port: ports[1], users, ...files, ...more });
      return pooler;
    },
    close,
  };
}

/** Migrates as tock and lets tock_edge log in. */
export async function prepare(ownerUrl: string, edgePassword: string): Promise<void> {
  // test/mutants/run.ts changes a copy of sql/.
  await migrate(ownerUrl, { directory: process.env.TOCK_SQL_DIRECTORY });
  await openEdge(ownerUrl, edgePassword);
}
