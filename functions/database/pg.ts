import pg from 'pg';
import { CONNECT_MS, QUERY_MS } from '../timeouts.ts';
import { corkSocket } from './cork_socket.ts';
import { misconfigured } from './errors.ts';
import { session } from './session.ts';
import { lacksTls, sayTls } from './tls.ts';
import type { Connect } from './types.ts';

/** Through a transaction pooler: nothing is kept in the session, no statement is named. */
const clientOf = (url: string | undefined) =>
  new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
  });

/** Over TCP, to another host by TLS, unless the URL says that it is not wanted. */
export const connectPg: Connect = ({ DATABASE_URL }, use) =>
  session(() => {
    const client = clientOf(DATABASE_URL);
    if (lacksTls(client, DATABASE_URL ?? '')) {
      throw misconfigured('DATABASE_URL leads to another host without TLS.', sayTls);
    }
    return corkSocket(client);
  }, use);

/** Over TCP, where something else sees to TLS. */
export const connectTcp: Connect = ({ DATABASE_URL }, use) =>
  session(() => corkSocket(clientOf(DATABASE_URL)), use);
