import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { type Cluster, cluster } from '../../scripts/stack/cluster.ts';
import { machine } from '../../scripts/stack/machine.ts';
import { passingFolder } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';
import { withClient } from '../../scripts/stack/roles.ts';
import { databaseUser } from '../../scripts/stack/user.ts';
import { citus } from './citus_build.ts';

/** A server with a database `tock` that has Citus; a superuser's URL. */
export type Server = {
  cluster: Cluster;
  url: string;
  port: number;
  connect(): Promise<pg.Client>;
  remove(): Promise<void>;
};

const settings = {
  shared_preload_libraries: 'citus',
  max_prepared_transactions: '100',
  wal_level: 'logical',
  max_connections: '100',
  'citus.enable_statistics_collection': 'off',
};

/** The servers know each other by this file, which libpq reads in the folder of their user. */
const passwordFile = (password: string) => `*:*:*:postgres:${password}\n`;

async function startServer(password: string, name: string): Promise<Server> {
  const user = await databaseUser();
  const folder = await passingFolder(`citus-${process.pid}-${name}`, user);
  const host = machine({ installed: await citus(), origin: 'with Citus', user, folder });
  await host.write(`${folder}/.pgpass`, passwordFile(password));
  const port = await anyPort();
  const log = `${folder}/postgres.log`;
  const options = { port, password, cronDatabase: 'tock', log, settings };
  const created = cluster(host, options);
  await created.start();
  await withClient(created.url(), (client) => client.query('create database tock'));
  const url = created.url('tock');
  await withClient(url, (client) => client.query('create extension citus'));
  const clients: pg.Client[] = [];
  return {
    cluster: created,
    url,
    port,
    async connect() {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
    async remove() {
      await Promise.all(clients.map((client) => client.end().catch(() => {})));
      await created.stop();
      await host.remove(folder);
    },
  };
}

/** Starts servers with Citus that can connect to each other. The first is meant as the coordinator. */
export async function startServers(count: number): Promise<Server[]> {
  const password = randomBytes(12).toString('hex');
  const servers: Server[] = [];
  try {
    for (let n = 0; n < count; n++) servers.push(await startServer(password, `${n}`));
  } catch (error) {
    await Promise.all(servers.map((server) => server.remove()));
    throw error;
  }
  return servers;
}
