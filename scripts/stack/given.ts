import { withDatabase } from '../../migrate/connect.ts';
import { readDevEnv, secrets } from './files.ts';
import type { DatabaseUrls } from './local.ts';

/** DATABASE_URL, unless it is only our own dev.env read into the shell. */
export function givenUrl(): string | null {
  const url = process.env.DATABASE_URL;
  if (!url) return null;
  const kept = readDevEnv();
  const ours = kept.DATABASE_URL && URL.canParse(kept.DATABASE_URL);
  const password = URL.canParse(url) && new URL(url).password;
  return ours && password === secrets().owner ? null : url;
}

/** Somebody's PostgreSQL, as it is: nothing is started, and a role in use keeps its password. */
export async function givenDatabase(url: string): Promise<DatabaseUrls> {
  const pooled = process.env.POOLED_DATABASE_URL;
  await withDatabase(url, (client) => client.query('select 1'));
  const ends = process.env.POOLED_DATABASE_URL_ENDS || null;
  if (pooled) return { owner: url, pooled, ends, edgePassword: null };
  const edge = new URL(url);
  edge.username = 'tock_edge';
  edge.password = secrets().edge;
  return { owner: url, pooled: edge.href, ends: null, edgePassword: secrets().edge };
}
