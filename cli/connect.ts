import pg from 'pg';
import { Failure } from './failure.ts';

const unreachable = 'Check that PostgreSQL runs there and that this machine may reach it.';
const advice: Record<string, string> = {
  ECONNREFUSED: 'Nothing listens there. Start PostgreSQL (npm start does), or correct the URL.',
  ENOTFOUND: 'There is no such host. Correct the URL.',
  EAI_AGAIN: 'The host name could not be looked up. Correct the URL, or try again.',
  ETIMEDOUT: unreachable,
  '28P01': 'Correct the password in the URL.',
  '28000': 'This role may not log in from here. Correct the URL, or allow it in pg_hba.conf.',
  '3D000': 'Create that database, or correct the URL.',
  '53300': 'All connections are taken. Close some, or connect through a pooler.',
  '57P03': 'The server is starting or stopping. Try again in a moment.',
};

function place(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'localhost'}:${port || 5432}${pathname}`;
}

/** Node gives one error an address when a name has several. */
function firstOf(error: unknown): { code?: string; message: string } {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return { code: first?.code, message: first?.message || String(first) };
}

/** Connects, works and disconnects; a failure to connect says where and what to do. */
export async function withDatabase<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url)) {
    const next = 'It looks like postgres://role:password@host:5432/database.';
    throw new Failure('The database URL is not a PostgreSQL URL.', next, 2);
  }
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tock',
    connectionTimeoutMillis: 15_000,
  });
  // A server that goes away fails the query at hand; without this it would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    const { code = '', message } = firstOf(error);
    const what = `PostgreSQL at ${place(url)} can't be used: ${message.replace(/\.?$/, '.')}`;
    throw new Failure(what, advice[code] ?? unreachable, 4);
  }
  try {
    return await work(client);
  } catch (error) {
    if (error instanceof Failure || !/^Connection terminated/.test((error as Error).message))
      throw error;
    throw new Failure(
      `The connection to ${place(url)} broke.`,
      'See that PostgreSQL is up, then try again.',
      4,
    );
  } finally {
    await client.end().catch(() => {});
  }
}
