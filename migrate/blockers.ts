import pg from 'pg';

export type Watch = {
  /** The blocking sessions seen last, one per line; empty if there were none. */
  blockers(): string;
  stop(): Promise<void>;
};

const question = `
  select b.pid, a.usename, a.application_name, a.client_addr, a.state, a.query,
    extract(epoch from pg_catalog.clock_timestamp() - a.xact_start)::integer as open_seconds
  from unnest(pg_catalog.pg_blocking_pids($1)) b(pid)
  left join pg_catalog.pg_stat_activity a using (pid)
  order by a.xact_start`;

/** A session in one line; process 0 is a prepared transaction. */
export function describe(row: Record<string, string | number | null>): string {
  if (row.pid === 0) return 'a prepared transaction (select * from pg_prepared_xacts)';
  const from = row.client_addr ? ` from ${row.client_addr}` : '';
  const name = row.application_name ? `, ${row.application_name}` : '';
  const query = String(row.query ?? '').replace(/\s+/g, ' ');
  const doing = query ? `: ${query.slice(0, 80)}` : '';
  const state = `${row.state ?? 'state hidden'}, transaction open for ${row.open_seconds ?? '?'} s`;
  return `process ${row.pid} (${row.usename ?? 'role hidden'}${from}${name}; ${state})${doing}`;
}

/** Asks once a second, over a connection of its own, which sessions block `client`. */
export function watchBlockers(
  client: pg.Client,
  pid: number,
  log: (line: string) => void = () => {},
): Watch {
  let watcher: pg.Client | null = null;
  let pids = '';
  let sessions = '';
  let asking: Promise<void> = Promise.resolve();
  const askOnce = async () => {
    if (!watcher) {
      // The host and TLS settings of the migrating client, as connect.ts has checked them.
      const { host, port, user, password, database, ssl } = client;
      const candidate = new pg.Client({
        host,
        port,
        user,
        password,
        database,
        ssl,
        connectionTimeoutMillis: 3000,
        query_timeout: 3000,
      } as pg.ClientConfig);
      candidate.on('error', () => {});
      await candidate.connect();
      // It is set only now, because a client that could not connect never answers a query.
      watcher = candidate;
    }
    const { rows } = await watcher.query(question, [pid]);
    if (rows.length === 0) return;
    sessions = rows.map(describe).join('\n');
    const currentPids = rows.map((row) => row.pid).join();
    if (currentPids !== pids) log(`Waiting for ${sessions}`);
    pids = currentPids;
  };
  const timer = setInterval(() => {
    // If no connection is free, the message names no sessions.
    asking = asking.then(askOnce).catch(() => {});
  }, 1000);
  return {
    blockers: () => sessions,
    async stop() {
      clearInterval(timer);
      await asking;
      await watcher?.end().catch(() => {});
    },
  };
}
