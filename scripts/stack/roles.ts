import pg from 'pg';

export async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The migrating role, with no more rights than a managed PostgreSQL gives its customers. */
export async function makeOwner(superUrl: string, password: string): Promise<void> {
  await withClient(superUrl, async (client) => {
    const { rowCount } = await client.query("select from pg_roles where rolname = 'tock'");
    const verb = rowCount ? 'alter' : 'create';
    const secret = client.escapeLiteral(password);
    await client.query(
      `${verb} role tock login nosuperuser nocreatedb createrole password ${secret}`,
    );
  });
}

/** A database owned by tock; true when it was made just now. */
export async function makeDatabase(superUrl: string, name: string): Promise<boolean> {
  return withClient(superUrl, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount) return false;
    await client.query(`create database ${client.escapeIdentifier(name)} owner tock`);
    return true;
  });
}

/** pg_cron in its database, usable by tock as on a managed PostgreSQL: USAGE on its schema, no more. */
export async function makeCron(superUrl: string): Promise<void> {
  await withClient(superUrl, async (client) => {
    await client.query('create extension if not exists pg_cron');
    await client.query('grant usage on schema cron to tock');
  });
}

/**
 * Lets the edge role, which the migrations make, log in. On a database that others use too it may
 * have a password already; that one is left as it is, or a Worker elsewhere would lose its way in.
 */
export async function openEdge(url: string, password: string, ours = true): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query(
      "select rolcanlogin as open from pg_roles where rolname = 'tock_edge'",
    );
    if (rows[0]?.open && !ours) {
      throw new Error(
        'tock_edge has a password there already. Set POOLED_DATABASE_URL to a URL with it,\n' +
          'best one through a transaction pooler, then run this again.',
      );
    }
    await client.query(`alter role tock_edge login password ${client.escapeLiteral(password)}`);
  });
}

export async function canConnect(url: string): Promise<boolean> {
  return withClient(url, () => Promise.resolve(true)).catch(() => false);
}
