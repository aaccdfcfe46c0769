import { connect } from 'node:net';
import type { Daemon, Host } from './host.ts';

export type PoolerOptions = {
  port: number;
  postgresPort: number;
  /** Passwords by role. */
  users: Record<string, string>;
  /** A database that gets a second pool, with the name endsPoolName(). */
  ends?: string;
  /** Settings that replace those of this file. */
  settings?: Record<string, number>;
  log: string;
  /** transaction, unless a test needs another mode. */
  mode?: 'session' | 'statement';
};

export type Pooler = { port: number; pid: number; ended: Promise<void>; stop(): Promise<void> };

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const answer = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.once('connect', () => answer(true));
    socket.once('error', () => answer(false));
  });
}

/** The connections of the pool for calls that end work. However many enqueues wait, they cannot take these. */
const ENDS_POOL_SIZE = 10;

export const endsPoolName = (database: string) => `${database}_ends`;

function databases({ ends, postgresPort }: PoolerOptions): string {
  const connection = `host=127.0.0.1 port=${postgresPort}`;
  const endsPool =
    ends && `${endsPoolName(ends)} = ${connection} dbname=${ends} pool_size=${ENDS_POOL_SIZE}\n`;
  return `${endsPool ?? ''}* = ${connection}`;
}

const settings = {
  max_client_conn: 2000,
  default_pool_size: 20,
  max_db_connections: 40,
  // This time is shorter than the clients' timeouts, so that they get the error that the pool is full.
  query_wait_timeout: 15,
  server_idle_timeout: 60,
  server_login_retry: 1,
};

function configuration(host: Host, options: PoolerOptions): string {
  const all = Object.entries({ ...settings, ...options.settings });
  return `[databases]
${databases(options)}

[pgbouncer]
listen_addr = ${host.listen}
listen_port = ${options.port}
unix_socket_dir =
auth_type = md5
auth_file = ${host.folder}/users.txt
pool_mode = ${options.mode ?? 'transaction'}
${all.map(([name, value]) => `${name} = ${value}`).join('\n')}
ignore_startup_parameters = extra_float_digits,options
log_connections = 0
log_disconnections = 0
`;
}

/** A PgBouncer in transaction mode for every database of one cluster. */
export async function startPooler(host: Host, options: PoolerOptions): Promise<Pooler> {
  const users = Object.entries(options.users).map(([name, word]) => `"${name}" "${word}"\n`);
  if (!host.pgbouncer) throw new Error(`There is no PgBouncer beside PostgreSQL ${host.origin}.`);
  // Clients log in to the pooler by md5: a Worker connects for each request, and SCRAM takes milliseconds each time.
  // The pooler itself logs in to PostgreSQL by SCRAM.
  await host.write(`${host.folder}/users.txt`, users.join(''));
  await host.write(`${host.folder}/pgbouncer.ini`, configuration(host, options));
  const daemon: Daemon = await host.start([host.pgbouncer, `${host.folder}/pgbouncer.ini`], {
    log: options.log,
    orphaned: 'SIGTERM',
  });
  const pooler = {
    port: options.port,
    pid: daemon.pid,
    ended: daemon.ended,
    async stop() {
      await daemon.signal('SIGTERM');
      // After SIGTERM newer versions wait for their clients. SIGKILL is safe, because the pooler has no state to lose.
      const hurry = setTimeout(() => void daemon.signal('SIGKILL'), 2000);
      await daemon.ended;
      clearTimeout(hurry);
    },
  };
  try {
    await ready(host, daemon, options);
  } catch (error) {
    await pooler.stop();
    throw error;
  }
  return pooler;
}

async function ready(host: Host, daemon: Daemon, options: PoolerOptions): Promise<void> {
  let hasEnded = false;
  void daemon.ended.then(() => {
    hasEnded = true;
  });
  while (!(await accepts(options.port))) {
    if (hasEnded) {
      throw new Error(`PgBouncer did not start. Its log ends:\n${await host.logged(options.log)}`);
    }
    host.signal?.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
