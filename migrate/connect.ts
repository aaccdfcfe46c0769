import pg from 'pg';
import { lacksTls, tlsHint } from '../functions/database/tls.ts';
import { Failure } from './failure.ts';
import { CONNECT_MS, END_MS, STATEMENT_MS } from './timeouts.ts';

const unreachable = 'Check that PostgreSQL runs there and that this machine may reach it.';
const ownCa = 'Where a CA of its own signed its certificate add: &sslrootcert=/path/to/ca.pem';
const noTls =
  'Turn on ssl in PostgreSQL. Only where the network between is private, give the URL sslmode=disable.';
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
  SELF_SIGNED_CERT_IN_CHAIN: ownCa,
  DEPTH_ZERO_SELF_SIGNED_CERT: ownCa,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ownCa,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ownCa,
  ERR_TLS_CERT_ALTNAME_INVALID: 'Name the host in the URL as its certificate does.',
};

function place(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'localhost'}:${port || 5432}${pathname}`;
}

function brokenBy({ message }: Error): string | null {
  if (/^Query read timeout/.test(message)) return 'fell silent';
  return /^Connection terminated/.test(message) ? 'broke' : null;
}

/** Node gives one error an address when a name has several. */
function firstOf(error: unknown): { code?: string; message: string } {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return { code: first?.code, message: first?.message || String(first) };
}

/** A network that is gone answers no farewell. */
async function end(client: pg.Client): Promise<void> {
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } })
    .connection;
  const late = setTimeout(() => stream.destroy(), END_MS);
  await client.end().catch(() => {});
  clearTimeout(late);
}

/** A client of pg for a URL; all of the command line are made here, so that none goes to another host without TLS. */
export function clientOf(url: string, options: pg.ClientConfig): pg.Client {
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url)) {
    const next = 'It looks like postgres://role:password@host:5432/database.';
    throw new Failure('The database URL is not a PostgreSQL URL.', next, 2);
  }
  let client: pg.Client;
  try {
    client = new pg.Client({ ...options, connectionString: url });
  } catch (error) {
    // Such as a file of sslrootcert that is not there.
    throw new Failure(`The database URL can't be used: ${(error as Error).message}.`, undefined, 2);
  }
  if (!lacksTls(client, url)) return client;
  const what = `The database URL leads to ${client.host} without TLS.`;
  throw new Failure(what, `${tlsHint[0]?.toUpperCase()}${tlsHint.slice(1)}.`, 2);
}

/**
 * Connects, works and disconnects; a failure to connect says where and what to do. A statement is waited for so long,
 * without an end where that is 0.
 */
export async function withDatabase<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  statement_ms = STATEMENT_MS,
): Promise<T> {
  const client = clientOf(url, {
    application_name: 'tock',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: statement_ms,
    keepAlive: true,
  });
  // A server that goes away fails the query at hand; without this it would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    const { code = '', message } = firstOf(error);
    const what = `PostgreSQL at ${place(url)} can't be used: ${message.replace(/\.?$/, '.')}`;
    const next = / not support SSL/.test(message) ? noTls : (advice[code] ?? unreachable);
    throw new Failure(what, next, 4);
  }
  try {
    return await work(client);
  } catch (error) {
    const broke = brokenBy(error as Error);
    if (error instanceof Failure || !broke) throw error;
    const what = `The connection to ${place(url)} ${broke}.`;
    throw new Failure(what, 'See that PostgreSQL is up, then try again.', 4);
  } finally {
    await end(client);
  }
}
