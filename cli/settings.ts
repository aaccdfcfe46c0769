import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../migrate/failure.ts';

export type GlobalOptions = { json?: boolean; databaseUrl?: string; url?: string; key?: string };

/** How to reach Tock: over HTTP with a key, or straight into its database. */
export type Way =
  /** `database` is the same place's, for what HTTP doesn't give; not beside a key from elsewhere. */
  | { kind: 'http'; url: string; key: string; database: string | null }
  | { kind: 'sql'; url: string };

type Variables = Partial<Record<string, string>>;

/** What one place gives: the options, the environment, or .tock/dev.env. */
type Given = {
  url?: string | undefined;
  key?: string | undefined;
  database?: string | undefined;
  pooled?: string | undefined;
};

/** What `npm start` wrote in the current directory: lines of NAME='value', exported or not. */
function devEnv(): Variables {
  const path = join(process.env.TOCK_HOME ?? '.tock', 'dev.env');
  if (!existsSync(path)) return {};
  const lines = readFileSync(path, 'utf8').matchAll(/^(?:export )?([A-Z_]+)=(['"]?)(.*)\2$/gm);
  return Object.fromEntries([...lines].map(([, name, , value]) => [name, value]));
}

const givenBy = (variables: Variables): Given => ({
  url: variables.TOCK_URL,
  key: variables.TOCK_KEY,
  database: variables.DATABASE_URL,
  pooled: variables.POOLED_DATABASE_URL,
});

/** Of options, environment and .tock/dev.env the first with a way decides that, the first with a key that. */
function nearest({ url, key, databaseUrl: database }: GlobalOptions) {
  const places: Given[] = [{ url, key, database }, givenBy(process.env), givenBy(devEnv())];
  const place = places.find((given) => (given.url ?? given.database) !== undefined);
  const keyed = places.find((given) => given.key !== undefined);
  return { ...place, key: keyed?.key, keyIsFromThere: keyed === place };
}

/** For any command, whichever way it goes. */
export function refuseTwoWays({ url, databaseUrl }: GlobalOptions): void {
  if (url === undefined || databaseUrl === undefined) return;
  throw new Failure('--url and --database-url are two ways: give one.', undefined, 2);
}

/** For what HTTP doesn't do. */
export function databaseUrl(options: GlobalOptions): string {
  const { url, database } = nearest(options);
  if (database) return database;
  if (url) {
    const name = options.url === undefined ? 'TOCK_URL' : '--url';
    throw new Failure(
      `${name} is a way over HTTP, and this goes to the database.`,
      `Give --database-url, or DATABASE_URL without ${name}.`,
      2,
    );
  }
  throw new Failure(
    'There is no database to work on.',
    'Set DATABASE_URL or give --database-url; after "npm start" .tock/dev.env has one.',
    2,
  );
}

/** HTTP before SQL where one place has both. */
export function way(options: GlobalOptions): Way {
  const { url, key, database, keyIsFromThere } = nearest(options);
  if (url && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    const name = options.url === undefined ? 'TOCK_URL' : '--url';
    throw new Failure(`${name} is no address.`, 'It is like http://127.0.0.1:8787.', 2);
  }
  if (url && key !== undefined) {
    const own = keyIsFromThere && database ? database : null;
    return { kind: 'http', url: url.replace(/\/+$/, ''), key, database: own };
  }
  if (database && options.key === undefined) return { kind: 'sql', url: database };
  if (database) {
    throw new Failure(
      '--key is for HTTP, and this goes to the database.',
      'Leave it out, or give --url.',
      2,
    );
  }
  if (url) {
    const name = options.url === undefined ? 'TOCK_URL' : '--url';
    throw new Failure(`${name} needs a key.`, 'Set TOCK_KEY, or make one: tock key create', 2);
  }
  throw new Failure(
    'There is no Tock to talk to.',
    'Set TOCK_URL and TOCK_KEY, or DATABASE_URL; after "npm start" .tock/dev.env has them.',
    2,
  );
}

/** What is beneath the way: its database, and the pooler that the Worker's calls go through, where they are known. */
export function beneath(options: GlobalOptions): {
  database: string | null;
  pooled: string | null;
} {
  const found = way(options);
  const database = found.kind === 'http' ? found.database : found.url;
  const pooled = nearest(options).pooled || process.env.POOLED_DATABASE_URL || null;
  return { database, pooled: database && pooled };
}
