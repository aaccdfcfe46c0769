import pg from 'pg';
import type { Daemon, Host } from './host.ts';

export type ClusterOptions = {
  port: number;
  password: string;
  /** The database of pg_cron. */
  cronDatabase: string;
  log: string;
  settings?: Record<string, string>;
};

export type Cluster = {
  host: Host;
  port: number;
  data: string;
  pid: number;
  ended: Promise<void>;
  /** A superuser's URL. */
  url(database?: string): string;
  start(): Promise<void>;
  stop(): Promise<void>;
  kill9(): Promise<void>;
};

function configuration(host: Host, options: ClusterOptions): string {
  const settings: Record<string, string> = {
    listen_addresses: host.listen,
    port: String(options.port),
    unix_socket_directories: '',
    ...(host.cron && {
      shared_preload_libraries: 'pg_cron',
      'cron.database_name': options.cronDatabase,
      'cron.use_background_workers': 'on',
    }),
    max_worker_processes: '24',
    max_connections: '400',
    max_prepared_transactions: '40',
    fsync: 'on',
    synchronous_commit: 'on',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_line_prefix: '%m [%p] %q%u@%d ',
    logging_collector: 'off',
    ...options.settings,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name} = '${value}'\n`)
    .join('');
}

async function initialize(host: Host, data: string, password: string): Promise<void> {
  // initdb writes to a temporary folder that is renamed later, so an interrupted initdb leaves no partial data.
  const fresh = `${data}.new`;
  const secret = `${host.folder}/superuser`;
  await host.remove(fresh);
  await host.write(secret, password);
  const how = ['--data-checksums', '--encoding=UTF8', '--locale=C.UTF-8', '--auth=scram-sha-256'];
  await host.run([
    `${host.bin}/initdb`,
    '--username=postgres',
    ...how,
    `--pwfile=${secret}`,
    fresh,
  ]);
  await host.remove(secret);
  await host.run(['sh', '-c', `echo "include 'tock.conf'" >> "$1/postgresql.conf"`, 'sh', fresh]);
  if (!host.local) {
    const rule = 'host all all all scram-sha-256';
    await host.run(['sh', '-c', `echo "${rule}" >> "$1/pg_hba.conf"`, 'sh', fresh]);
  }
  await host.run(['mv', fresh, data]);
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query('select 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

/** A cluster in the host's folder. The first start creates it. */
export function cluster(host: Host, options: ClusterOptions): Cluster {
  const data = `${host.folder}/data`;
  let daemon: Daemon | null = null;
  const url = (database = 'postgres') =>
    `postgres://postgres:${options.password}@127.0.0.1:${options.port}/${database}`;

  async function stop(): Promise<void> {
    if (!daemon) return;
    const { ended, signal } = daemon;
    let hasEnded = false;
    void ended.then(() => {
      hasEnded = true;
    });
    // SIGINT is a fast shutdown, SIGQUIT an immediate one. The write-ahead log makes both safe.
    for (const [name, seconds] of [
      ['SIGINT', 20],
      ['SIGQUIT', 10],
    ] as const) {
      await signal(name);
      const timer = AbortSignal.timeout(seconds * 1000);
      await Promise.race([
        ended,
        new Promise((resolve) => timer.addEventListener('abort', resolve)),
      ]);
      if (hasEnded) break;
    }
    if (!hasEnded) await host.kill9(daemon.pid);
    daemon = null;
  }

  async function start(): Promise<void> {
    const createdBy = await host.read(`${data}/PG_VERSION`);
    if (createdBy && Number(createdBy) !== host.major) {
      throw new Error(
        `The data was created by PostgreSQL ${createdBy.trim()}, and this is version ${host.major}\n${host.origin}.\n` +
          'To delete the data and start again: npm start -- --reset',
      );
    }
    if (!createdBy) await initialize(host, data, options.password);
    await host.clear(data);
    // No server runs in the folder. But an old lock file may contain a pid that another process has now.
    await host.remove(`${data}/postmaster.pid`);
    await host.write(`${data}/tock.conf`, configuration(host, options));
    const started = await host.start([`${host.bin}/postgres`, '-D', data], {
      log: options.log,
      orphaned: 'SIGINT',
    });
    daemon = started;
    let hasEnded = false;
    void started.ended.then(() => {
      hasEnded = true;
    });
    while (!(await answers(url()))) {
      if (hasEnded) {
        daemon = null;
        throw new Error(
          `PostgreSQL did not start. Its log ends:\n${await host.logged(options.log)}`,
        );
      }
      host.signal?.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  return {
    host,
    port: options.port,
    data,
    get pid() {
      return daemon?.pid ?? 0;
    },
    get ended() {
      return daemon?.ended ?? Promise.resolve();
    },
    url,
    start,
    stop,
    async kill9() {
      if (daemon) await host.kill9(daemon.pid);
      daemon = null;
    },
  };
}
