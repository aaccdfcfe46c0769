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

/** The database and server of a URL, without its password. */
export function describeDatabase(url: string): string {
  if (!URL.canParse(url)) return 'a database whose URL cannot be read';
  const { hostname, port, pathname, username } = new URL(url);
  const name = decodeURIComponent(pathname.slice(1) || username);
  return `the database ${name} on ${hostname || 'localhost'}:${port || 5432}`;
}

/** Why `npm start` does not begin; null if it may. A DATABASE_URL may be in the shell for another purpose. */
export function refusal(external: string | null, args: { external: boolean; reset: boolean }) {
  if (args.external && !external)
    return '--external uses the database of DATABASE_URL, and DATABASE_URL names none but that of npm start itself.';
  if (args.external && args.reset)
    return '--reset deletes only local data. Leave out --reset or --external.';
  if (!external || args.external) return null;
  return `DATABASE_URL in this shell names ${describeDatabase(external)}.
npm start would migrate it, create the key "dev" there and serve it. Nothing was done.
  To use that database:              npm start -- --external
  To start a PostgreSQL of its own:  DATABASE_URL= npm start`;
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
