import pg from 'pg';
import { CONNECT_MS, QUERY_MS } from '../timeouts.ts';
import { corkSocket } from './cork_socket.ts';
import { misconfigured } from './errors.ts';
import { session } from './session.ts';
import { lacksTls, tlsHint } from './tls.ts';
import type { Connect } from './types.ts';

/** Works through a transaction pooler: no session state, no named statements. */
const createClient = (url: string | undefined) =>
  new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
  });

/** Over TCP; requires TLS to another host, unless the URL disables it. */
export const connectPg: Connect = ({ DATABASE_URL }, use) =>
  session(() => {
    const client = createClient(DATABASE_URL);
    if (lacksTls(client, DATABASE_URL ?? '')) {
      throw misconfigured('DATABASE_URL connects to another host without TLS.', tlsHint);
    }
    return corkSocket(client);
  }, use);

/** Over TCP, where another component handles TLS. */
export const connectTcp: Connect = ({ DATABASE_URL }, use) =>
  session(() => corkSocket(createClient(DATABASE_URL)), use);
