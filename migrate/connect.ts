import pg from 'pg';
import { lacksTls, tlsHint } from '../functions/database/tls.ts';
import { Failure } from './failure.ts';
import { CONNECT_MS, END_MS, STATEMENT_MS } from './timeouts.ts';

const unreachable = 'Check that PostgreSQL runs there and that this machine can reach it.';
const privateCaHint =
  'If its certificate was signed by a private CA, add: &sslrootcert=/path/to/ca.pem';
const noTls =
  'Turn on ssl in PostgreSQL. Only if the network is private, add sslmode=disable to the URL.';
const advice: Record<string, string> = {
  ECONNREFUSED: 'No server listens there. Start PostgreSQL (npm start does), or correct the URL.',
  ENOTFOUND: 'This host does not exist. Correct the URL.',
  EAI_AGAIN: 'The host name could not be resolved. Correct the URL, or retry.',
  ETIMEDOUT: unreachable,
  '28P01': 'Correct the password in the URL.',
  '28000': 'This role may not log in from here. Correct the URL, or allow it in pg_hba.conf.',
  '3D000': 'Create this database, or correct the URL.',
  '53300': 'All connections are in use. Close some, or connect through a pooler.',
  '57P03': 'The server is starting or stopping. Retry in a moment.',
  SELF_SIGNED_CERT_IN_CHAIN: privateCaHint,
  DEPTH_ZERO_SELF_SIGNED_CERT: privateCaHint,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: privateCaHint,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: privateCaHint,
  ERR_TLS_CERT_ALTNAME_INVALID: 'Use the host name of the certificate in the URL.',
};

function describeServer(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || 'localhost'}:${port || 5432}${pathname}`;
}

function describeBreak({ message }: Error): string | null {
  if (/^Query read timeout/.test(message)) return 'stopped answering';
  return /^Connection terminated/.test(message) ? 'broke' : null;
}

/** The error of a failed connection. Node returns several, one for each address of a name. */
function firstError(error: unknown): { code?: string; message: string } {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return { code: first?.code, message: first?.message || String(first) };
}

/** Ends a connection, at most END_MS later by force, because a dead network never confirms the end. */
async function endClient(client: pg.Client): Promise<void> {
  const { stream } = (client as unknown as { connection: { stream: { destroy(): void } } })
    .connection;
  const destroyTimer = setTimeout(() => stream.destroy(), END_MS);
  await client.end().catch(() => {});
  clearTimeout(destroyTimer);
}

/**
 * Creates a pg client for a URL. The command line creates all its clients here, so that none connects to another host
 * without TLS.
 */
export function createClient(url: string, options: pg.ClientConfig): pg.Client {
  if (!/^postgres(ql)?:/.test(url) || !URL.canParse(url)) {
    const next = 'Use a URL like postgres://role:password@host:5432/database.';
    throw new Failure('The database URL is not a valid PostgreSQL URL.', next, 2);
  }
  let client: pg.Client;
  try {
    client = new pg.Client({ ...options, connectionString: url });
  } catch (error) {
    // pg throws, for example, if the file of sslrootcert does not exist.
    throw new Failure(
      `The database URL cannot be used: ${(error as Error).message}.`,
      undefined,
      2,
    );
  }
  if (!lacksTls(client, url)) return client;
  const summary = `The database URL connects to ${client.host} without TLS.`;
  throw new Failure(summary, `${tlsHint[0]?.toUpperCase()}${tlsHint.slice(1)}.`, 2);
}

/**
 * Connects, runs `work` and disconnects. A connection error names the server and a remedy. `statement_ms` limits each
 * statement; 0 means no limit.
 */
export async function withDatabase<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  statement_ms = STATEMENT_MS,
): Promise<T> {
  const client = createClient(url, {
    application_name: 'tock',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: statement_ms,
    keepAlive: true,
  });
  // A server that disconnects fails the running query; without this listener the error would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    const { code = '', message } = firstError(error);
    const summary = `PostgreSQL at ${describeServer(url)} cannot be used: ${message.replace(/\.?$/, '.')}`;
    const next = / not support SSL/.test(message) ? noTls : (advice[code] ?? unreachable);
    throw new Failure(summary, next, 4);
  }
  try {
    return await work(client);
  } catch (error) {
    const broke = describeBreak(error as Error);
    if (error instanceof Failure || !broke) throw error;
    const summary = `The connection to ${describeServer(url)} ${broke}.`;
    throw new Failure(summary, 'Check that PostgreSQL runs, then retry.', 4);
  } finally {
    await endClient(client);
  }
}
