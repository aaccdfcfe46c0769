import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type Cluster, cluster } from '../../scripts/stack/cluster.ts';
import type { Host } from '../../scripts/stack/host.ts';
import { openHost } from '../../scripts/stack/open_host.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { makeCron, makeDatabase, makeOwner } from '../../scripts/stack/roles.ts';
import { softly } from '../../scripts/stack/step_reporter.ts';
import { prepare } from '../../scripts/stack/test_cluster.ts';

/** One of several clusters, with the role tock and the database tock. */
export type ClusterMember = Pick<Cluster, 'kill9' | 'start' | 'stop'> & {
  folder: string;
  /** The URL of a superuser, by default of the database tock. */
  superUrl(database?: string): string;
  /** The URL of tock, the owner, by default of the database tock. */
  url(database?: string): string;
  /** A connection as tock to the database tock, or to the given URL. */
  connect(url?: string): Promise<pg.Client>;
};

export type Settings = Record<string, string>;

export type Clusters = {
  host: Host;
  /** Makes a cluster with the role tock, and migrates it unless `bare`. */
  make(settings?: Settings, bare?: boolean): Promise<ClusterMember>;
  /** Makes a stopped copy by pg_basebackup with these options. The copy has its own settings. */
  copy(of: ClusterMember, options: string[], settings?: Settings): Promise<ClusterMember>;
  close(): Promise<void>;
};

let fleets = 0;

/** Ports and a host for `size` clusters. Each has pg_cron in its database tock if that is installed. */
export async function makeClusters(size: number): Promise<Clusters> {
  const ports: number[] = [];
  while (ports.length < size) ports.push(await anyPort());
  const name = `test-${process.pid}-fleet-${++fleets}`;
  const host = await openHost({ name, ports: [...ports], reporter: softly, kept: false });
  const superuser = randomBytes(12).toString('hex');
  const owner = randomBytes(12).toString('hex');
  const clients: pg.Client[] = [];
  const members: Cluster[] = [];

  async function member(settings: Settings): Promise<ClusterMember> {
    const port = ports.shift();
    if (port === undefined) throw new Error(`The fleet has room for ${size} clusters.`);
    const folder = `${host.folder}/${port}`;
    await host.run(['mkdir', '-m', '700', folder]);
    const options = { port, password: superuser, cronDatabase: 'tock', settings };
    const made = cluster({ ...host, folder }, { ...options, log: `${folder}/postgres.log` });
    members.push(made);
    const url = (database = 'tock') => {
      const parsed = new URL(made.url(database));
      parsed.username = 'tock';
      parsed.password = owner;
      return parsed.href;
    };
    return {
      folder,
      kill9: made.kill9,
      start: made.start,
      stop: made.stop,
      superUrl: (database = 'tock') => made.url(database),
      url,
      async connect(to = url()) {
        const client = new pg.Client({ connectionString: to });
        // Without a listener the error of a killed server would end the test process.
        client.on('error', () => {});
        await client.connect();
        clients.push(client);
        return client;
      },
    };
  }

  return {
    host,
    async make(settings = {}, bare = false) {
      const made = await member(settings);
      await made.start();
      await makeOwner(made.superUrl('postgres'), owner);
      await makeDatabase(made.superUrl('postgres'), 'tock');
      if (bare) return made;
      if (host.cron) await makeCron(made.superUrl());
      await prepare(made.url(), randomBytes(12).toString('hex'));
      return made;
    },
    async copy(of, options, settings = {}) {
      const made = await member(settings);
      const target = ['-D', `${made.folder}/data`, '-d', of.superUrl('postgres')];
      await host.run([`${host.bin}/pg_basebackup`, ...target, '--checkpoint=fast', ...options]);
      return made;
    },
    async close() {
      await Promise.all(clients.map((client) => client.end().catch(() => {})));
      await Promise.all(members.map((made) => made.stop()));
      await host.remove(host.folder);
      await host.close?.();
    },
  };
}
