import pg from 'pg';
import { CONNECT_MS, QUERY_MS } from '../patience.ts';
import type { Connect } from '../query.ts';
import { corked } from './corked.ts';
import { session } from './session.ts';

/** Over TCP, through a transaction pooler: nothing is kept in the session, no statement is named. */
export const connectPg: Connect = (env, use) =>
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
