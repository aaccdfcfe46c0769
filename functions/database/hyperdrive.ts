import { connectTcp } from './pg.ts';
import type { Connect } from './types.ts';

/**
 * Hyperdrive caches statements that look like reads, for a minute by default; a claim looks like one. It never caches
 * a statement that names a volatile function like random(). PostgreSQL's planner removes the unused `with` query.
 */
const uncached = (text: string) =>
  `with uncached as (select random())${text.startsWith('with ') ? `,${text.slice(4)}` : `\n${text}`}`;

/** pg through Hyperdrive's transaction pool, which handles TLS itself. */
export const connectHyperdrive: Connect = (env, use) =>
  connectTcp({ DATABASE_URL: env.HYPERDRIVE?.connectionString }, (query) =>
    use((text, values) => query(uncached(text), values)),
  );
