import pg from 'pg';
import { CONNECT_MS, QUERY_MS } from '../patience.ts';
import type { Connect } from '../query.ts';
import { corked } from './corked.ts';
import { misconfigured } from './misconfigured.ts';
import { session } from './session.ts';
import { lacksTls, sayTls } from './tls.ts';

/** To another host by TLS, unless the URL says that it is not wanted. */
export const connectPg: Connect = async (env, use) => {
  if (lacksTls(env.DATABASE_URL ?? '')) {
    throw misconfigured('DATABASE_URL leads to another host and names no sslmode.', sayTls);
  }
  return connectTcp(env, use);
};

/** Over TCP, through a transaction pooler: nothing is kept in the session, no statement is named. */
export const connectTcp: Connect = (env, use) =>
  session(
    () =>
      corked(
        new pg.Client({
          connectionString: env.DATABASE_URL,
          connectionTimeoutMillis: CONNECT_MS,
          query_timeout: QUERY_MS,
        }),
      ),
    use,
  );
