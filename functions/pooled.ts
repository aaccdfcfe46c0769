import type { Bindings } from './query.ts';

// What poolers say, as they give it codes of many kinds: PgBouncer, Supavisor, Hyperdrive.
const said =
  /query_wait_timeout|max_client_conn|max client(s| connections)? reached|open slot in the pool|pool exhausted|check ?out|EMAXCONN|too many (clients|connections)|connection slots are reserved/i;

/** Whether an error says that all connections are taken. */
export const isPoolFull = ({ code, message }: { code?: string; message: string }) =>
  code === '53300' || (/^(08|58|XX|57)/.test(code ?? '') && said.test(message));

/** The way of calls that end work: a pool of their own, where one is given, which no enqueue can fill. */
export function forEnds(env: Bindings): Bindings {
  const { DATABASE_URL_ENDS, HYPERDRIVE_ENDS, HYPERDRIVE, ...others } = env;
  if (HYPERDRIVE_ENDS) return { ...env, HYPERDRIVE: HYPERDRIVE_ENDS };
  return DATABASE_URL_ENDS ? { ...others, DATABASE_URL: DATABASE_URL_ENDS } : env;
}
