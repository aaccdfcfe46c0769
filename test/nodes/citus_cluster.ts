import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type Cluster, cluster } from '../../scripts/stack/cluster.ts';
import { machine } from '../../scripts/stack/machine.ts';
import { passingFolder } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { withClient } from '../../scripts/stack/roles.ts';
import { databaseUser } from '../../scripts/stack/user.ts';
import { value, waitUntil } from '../sql/verbs.ts';
import { citus } from './citus_build.ts';

/** A server with a database `tock` that has Citus; a superuser's URL. */
export type Server = {
  cluster: Cluster;
  url: string;
  port: number;
  connect(): Promise<pg.Client>;
  remove(): Promise<void>;
};

const citusSettings = {
  shared_preload_libraries: 'citus',
  max_prepared_transactions: '100',
  wal_level: 'logical',
  max_connections: '100',
  'citus.enable_statistics_collection': 'off',
};

export async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  return client;
}

/** The servers know each other by this file, which libpq reads in the folder of their user. */
const passwordFile = (password: string) =>
  ['postgres', 'tock_edge'].map((role) => `*:*:*:${role}:${password}\n`).join('');

/** A server that does not run yet, with a folder of its own. */
async function openServer(password: string, name: string, more = {}): Promise<Server> {
  const user = await databaseUser();
  const folder = await passingFolder(`citus-${process.pid}-${name}`, user);
  const host = machine({ installed: await citus(), origin: 'with Citus', user, folder });
  await host.write(`${folder}/.pgpass`, passwordFile(password));
  const port = await anyPort();
  const log = `${folder}/postgres.log`;
  const settings = { ...citusSettings, ...more };
  const opened = cluster(host, { port, password, cronDatabase: 'tock', log, settings });
  const url = opened.url('tock');
  const clients: pg.Client[] = [];
  return {
    cluster: opened,
    url,
    port,
    async connect() {
      const client = await openClient(url);
      clients.push(client);
      return client;
    },
    async remove() {
      await Promise.all(clients.map((client) => client.end().catch(() => {})));
      await opened.stop();
      await host.remove(folder);
    },
  };
}

async function startServer(password: string, name: string, more: object): Promise<Server> {
  const server = await openServer(password, name, more);
  await server.cluster.start();
  await withClient(server.cluster.url(), (client) => client.query('create database tock'));
  await withClient(server.url, (client) => client.query('create extension citus'));
  return server;
}

/** Starts a standby of a server, which from then on waits for it at each commit. */
export async function startStandby(primary: Server): Promise<Server> {
  const { password } = new URL(primary.url);
  const standby = await openServer(password, `standby-${primary.port}`);
  const { host, data } = standby.cluster;
  const from = ['-d', primary.cluster.url(), '--create-slot', '--slot=standby'];
  const how = ['--pgdata', data, '--write-recovery-conf', '--checkpoint=fast'];
  await host.run([`${host.bin}/pg_basebackup`, ...from, ...how]);
  await standby.cluster.start();
  await withClient(primary.url, async (client) => {
    await client.query("alter system set synchronous_standby_names = '*'");
    await client.query('select pg_reload_conf()');
    const state = 'select sync_state from pg_stat_replication';
    await waitUntil('the standby follows', async () => (await value(client, state)) === 'sync');
  });
  return standby;
}

/** Starts servers with Citus that can connect to each other. The first is meant as the coordinator. */
export async function startServers(count: number, more: object = {}): Promise<Server[]> {
  const password = randomBytes(12).toString('hex');
  const servers: Server[] = [];
  try {
    for (let n = 0; n < count; n++) servers.push(await startServer(password, `${n}`, more));
  } catch (error) {
    await Promise.all(servers.map((server) => server.remove()));
    throw error;
  }
  return servers;
}
