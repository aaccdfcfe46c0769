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

/** Creates the role that migrates, with the rights that a managed PostgreSQL gives its customers. */
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

/** Creates a database that tock owns. Returns false if it existed. */
export async function makeDatabase(superUrl: string, name: string): Promise<boolean> {
  return withClient(superUrl, async (client) => {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [name]);
    if (rowCount) return false;
    await client.query(`create database ${client.escapeIdentifier(name)} owner tock`);
    return true;
  });
}

/** Creates pg_cron. As on a managed PostgreSQL, the role tock gets only USAGE on its schema. */
export async function makeCron(superUrl: string): Promise<void> {
  await withClient(superUrl, async (client) => {
    await client.query('create extension if not exists pg_cron');
    await client.query('grant usage on schema cron to tock');
  });
}

/**
 * Lets the edge role, which the migrations create, log in. If the database is not local, an existing password stays,
 * because another Worker may use it.
 */
export async function enableEdgeLogin(
  url: string,
  password: string,
  isLocal = true,
): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query(
      "select rolcanlogin as open from pg_roles where rolname = 'tock_edge'",
    );
    if (rows[0]?.open && !isLocal) {
      throw new Error(
        'tock_edge already has a password there. Set POOLED_DATABASE_URL to a URL with it,\n' +
          'preferably through a transaction pooler, then repeat the command.',
      );
    }
    await client.query(`alter role tock_edge login password ${client.escapeLiteral(password)}`);
  });
}

export async function canConnect(url: string): Promise<boolean> {
  return withClient(url, () => Promise.resolve(true)).catch(() => false);
}
