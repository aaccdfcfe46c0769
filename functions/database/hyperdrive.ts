import { connectTcp } from './pg.ts';
import type { Connect } from './types.ts';

/**
 * Hyperdrive caches what looks like reading, for a minute unless told otherwise, and a claim looks
 * like reading to it. It caches no statement that names a volatile function of PostgreSQL's own.
 * The planner drops the expression.
 */
const uncached = (text: string) =>
  `with uncached as (select random())${text.startsWith('with ') ? `,${text.slice(4)}` : `\n${text}`}`;

/** With pg, through Hyperdrive's transaction pool, which itself sees to TLS. */
export const connectHyperdrive: Connect = (env, use) =>
  connectTcp({ DATABASE_URL: env.HYPERDRIVE?.connectionString }, (query) =>
    use((text, values) => query(uncached(text), values)),
  );
