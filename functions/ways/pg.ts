import pg from 'pg';
import type { Connect } from '../query.ts';
import { corked } from './corked.ts';
import { QUERY_MS, session } from './session.ts';

const CONNECT_MS = 5_000;

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
