import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { softly } from '../scripts/stack/step_reporter.ts';
import { prepare, type TestCluster, testCluster } from '../scripts/stack/test_cluster.ts';

/** What test/setup.ts tells the tests about the cluster. Without a PgBouncer of its own there is no `poolHost`. */
export type Stack = {
  /** PostgreSQL's major version. */
  major: number;
  /** A description, like `PostgreSQL 17.6 of Debian 13 in a folder, with pg_cron 1.6`. */
  name: string;
  superUrl: string;
  ownerPassword: string;
  edgePassword: string;
  poolHost?: string;
  poolPort?: number;
  /** True if pg_cron runs in the database `tock_cron`. */
  cron: boolean;
  postmasterPid?: number;
  dataDir?: string;
};

export type Database = {
  name: string;
  /** The URL of the owner, tock, without a pooler. */
  url: string;
  /** The URL of tock_edge, which may only call verbs, without a pooler. */
  edgeUrl: string;
  /** The URL of tock_edge through PgBouncer in transaction mode. */
  poolUrl?: string;
  superUrl: string;
  /** Connects as tock, or to the given URL. drop() closes the client. */
  connect(url?: string): Promise<pg.Client>;
  /** Closes the clients, and drops the database unless it is pg_cron's, which all tests share. */
  drop(): Promise<void>;
};

export type OwnCluster = Database & {
  readonly postmasterPid: number;
  /** Kills the postmaster and all its children with kill -9. */
  kill9(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Restarts its PgBouncer with other settings, such as a mode that Tock does not support. */
  pool: TestCluster['pool'];
};

export function stackInfo(): Stack {
  const text = process.env.TOCK_TEST_STACK;
  if (!text) throw new Error('No test cluster: run this with vitest (npm test -- <file>).');
  return JSON.parse(text);
}

function database(stack: Stack, name: string, drop: () => Promise<void>): Database {
  const clients: pg.Client[] = [];
  const as = (role: string, password: string, host?: string, port?: number) => {
    const url = new URL(stack.superUrl);
    const place = host ? `${host}:${port}` : url.host;
    return `postgres://${role}:${password}@${place}/${name}`;
  };
  const { ownerPassword, edgePassword, poolHost, poolPort } = stack;
  const url = as('tock', ownerPassword);
  const { username, password } = new URL(stack.superUrl);
  return {
    name,
    url,
    edgeUrl: as('tock_edge', edgePassword),
    ...(poolPort && { poolUrl: as('tock_edge', edgePassword, poolHost, poolPort) }),
    superUrl: as(username, password),
    async connect(to = url) {
      const client = new pg.Client({ connectionString: to });
      // When the server is killed, the current query must fail, not the whole test process.
      client.on('error', () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
    async drop() {
      await Promise.all(clients.splice(0).map((client) => client.end().catch(() => {})));
      await drop();
    },
  };
}

let count = 0;
let admin: Promise<pg.Client> | null = null;

/** Runs a statement as the superuser, over one connection for all databases of the process. */
async function administer(stack: Stack, statement: string): Promise<void> {
  admin ??= (async () => {
    const client = new pg.Client({ connectionString: stack.superUrl });
    client.on('error', () => {
      admin = null;
    });
    await client.connect();
    // A process ends although this connection is open.
    (client as unknown as { unref(): void }).unref();
    return client;
  })();
  await (await admin).query(statement);
}

/**
 * Creates a migrated, empty database without pg_cron, as a clone of the template. Another template may be given. With
 * the default strategy, creating and dropping a database take three times as long.
 */
export async function freshDatabase(template = 'tock_template'): Promise<Database> {
  const stack = stackInfo();
  const name = `tock_${process.pid}_${++count}_${randomBytes(3).toString('hex')}`;
  await administer(
    stack,
    `create database ${name} template ${template} owner tock strategy file_copy`,
  );
  return database(stack, name, () =>
    administer(stack, `drop database if exists ${name} with (force)`),
  );
}

/** pg_cron's own database, which all tests share. Waits until no other test uses it; drop() frees it. */
export async function cronDatabase(): Promise<Database> {
  const stack = stackInfo();
  if (!stack.cron) throw new Error(`There is no pg_cron in tock_cron: this is ${stack.name}.`);
  const holder = new pg.Client({ connectionString: stack.superUrl });
  holder.on('error', () => {});
  await holder.connect();
  await holder.query("select pg_advisory_lock(hashtext('tock_cron'))");
  return database(stack, 'tock_cron', () => holder.end());
}

/** Starts a cluster that a test may kill, with pg_cron if the host has it. drop() ends it and removes its data. */
export async function ownCluster(): Promise<OwnCluster> {
  const made = await testCluster('tock', softly);
  const { cluster, passwords } = made;
  const stack: Stack = {
    major: cluster.host.major,
    name: `PostgreSQL ${cluster.host.major} ${cluster.host.origin}`,
    superUrl: cluster.url(),
    ownerPassword: passwords.owner,
    edgePassword: passwords.edge,
    cron: cluster.host.cron,
  };
  const own = database(stack, 'tock', made.close);
  await prepare(own.url, passwords.edge);
  const pooler = cluster.host.pgbouncer ? await made.pool() : null;
  const poolUrl = new URL(own.edgeUrl);
  if (pooler) poolUrl.port = String(pooler.port);
  const { kill9, start, stop } = cluster;
  return Object.defineProperty(
    { ...own, ...(pooler && { poolUrl: poolUrl.href }), kill9, start, stop, pool: made.pool },
    'postmasterPid',
    {
      get: () => cluster.pid,
    },
  ) as OwnCluster;
}
