import pg from 'pg';

/** One statement in, rows out. Throws an error whose `code` is a SQLSTATE. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

export type Bindings = {
  /** postgres://… of a transaction pooler, as the role tock_edge; a secret. */
  DATABASE_URL?: string;
  HYPERDRIVE?: { connectionString: string };
};

/** Opens a way to the database for the time of `use`: the only door there is. */
export type Connect = <T>(env: Bindings, use: (query: Query) => Promise<T>) => Promise<T>;

const CONNECT_MS = 5_000;
// The role's own statement_timeout, 30 s, comes first and says so better.
const QUERY_MS = 35_000;
const END_MS = 1_000;

// What the driver and the network throw has no SQLSTATE: it gets the one of a broken connection.
function named(error: unknown, code: string): Error {
  if (error instanceof pg.DatabaseError) return error;
  const message = error instanceof Error ? error.message || error.name : String(error);
  return Object.assign(new Error(message), { code });
}

/** Waits no longer than it takes: a dead network must not hold the answer up. */
async function end(client: pg.Client): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, END_MS);
  });
  await Promise.race([client.end().catch(() => {}), late]);
  clearTimeout(timer);
}

/**
 * With `pg`, through a transaction pooler: nothing is kept in the session and no statement is named.
 * Workers share no socket between requests, so each opens and closes its own.
 */
export const connectPg: Connect = async (env, use) => {
  const connectionString = env.HYPERDRIVE?.connectionString ?? env.DATABASE_URL;
  if (!connectionString) throw named('The Worker has no DATABASE_URL.', '08001');
  const client = new pg.Client({
    connectionString,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
  });
  // A connection that breaks between two statements is told by the next one.
  client.on('error', () => {});
  try {
    await client.connect().catch((error) => {
      throw named(error, '08001');
    });
    return await use(async (text, values) => {
      try {
        return (await client.query(text, values)).rows;
      } catch (error) {
        throw named(error, '08006');
      }
    });
  } finally {
    await end(client);
  }
};
