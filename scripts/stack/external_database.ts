import { withDatabase } from '../../migrate/connect.ts';
import { readDevEnv, secrets } from './files.ts';
import type { DatabaseUrls } from './local.ts';

/** DATABASE_URL; null if it is the local database's, from a dev.env that was read into the shell. */
export function externalUrl(): string | null {
  const url = process.env.DATABASE_URL;
  if (!url) return null;
  const devEnv = readDevEnv();
  const localUrl = devEnv.DATABASE_URL && URL.canParse(devEnv.DATABASE_URL);
  const password = URL.canParse(url) && new URL(url).password;
  return localUrl && password === secrets().owner ? null : url;
}

/** The URLs of an external PostgreSQL. No server is started, and existing roles keep their passwords. */
export async function externalDatabase(url: string): Promise<DatabaseUrls> {
  const pooled = process.env.POOLED_DATABASE_URL;
  await withDatabase(url, (client) => client.query('select 1'));
  const ends = process.env.POOLED_DATABASE_URL_ENDS || null;
  if (pooled) return { owner: url, pooled, ends, edgePassword: null };
  const edge = new URL(url);
  edge.username = 'tock_edge';
  edge.password = secrets().edge;
  return { owner: url, pooled: edge.href, ends: null, edgePassword: secrets().edge };
}
