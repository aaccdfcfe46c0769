import pg from 'pg';

export type Watch = {
  /** The sessions last seen in the way, one a line; empty when none was. */
  seen(): string;
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

/** After a second, and then each second, asks over a connection of its own who is in the way. */
export function watchBlockers(
  client: pg.Client,
  pid: number,
  log: (line: string) => void = () => {},
): Watch {
  let other: pg.Client | null = null;
  let pids = '';
  let seen = '';
  let asking: Promise<void> = Promise.resolve();
  const ask = async () => {
    if (!other) {
      // The place and the TLS of the client that migrates, as connect.ts has judged them.
      const { host, port, user, password, database, ssl } = client;
      const one = new pg.Client({
        host,
        port,
        user,
        password,
        database,
        ssl,
        connectionTimeoutMillis: 3000,
        query_timeout: 3000,
      } as pg.ClientConfig);
      one.on('error', () => {});
      await one.connect();
      // Not before: a client that could not connect never answers a query.
      other = one;
    }
    const { rows } = await other.query(question, [pid]);
    if (rows.length === 0) return;
    seen = rows.map(describe).join('\n');
    const now = rows.map((row) => row.pid).join();
    if (now !== pids) log(`Waiting for ${seen}`);
    pids = now;
  };
  const timer = setInterval(() => {
    // No connection to spare only means that nobody is named.
    asking = asking.then(ask).catch(() => {});
  }, 1000);
  return {
    seen: () => seen,
    async stop() {
      clearInterval(timer);
      await asking;
      await other?.end().catch(() => {});
    },
  };
}
