import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { Failure } from '../migrate/failure.ts';

export type GlobalOptions = { json?: boolean; databaseUrl?: string; url?: string; key?: string };

/** The connection to Tock: over HTTP with a key, or directly to its database. */
export type Target =
  /** `database` is the server's database, for work that HTTP does not offer; null if it is unknown. */
  | { kind: 'http'; url: string; key: string; database: string | null }
  | { kind: 'sql'; url: string };

type Variables = Partial<Record<string, string>>;

/** The values from one origin: the options, the environment, or a file of the current directory. */
type Origin = {
  url?: string | undefined;
  key?: string | undefined;
  database?: string | undefined;
  pooled?: string | undefined;
};

/** The variables in a file of the current directory: lines of NAME='value', exported or not. */
function fileVariables(path: string): Variables {
  return existsSync(path) ? parseEnv(readFileSync(path, 'utf8')) : {};
}

const fromVariables = (variables: Variables): Origin => ({
  url: variables.TOCK_URL,
  key: variables.TOCK_KEY,
  database: variables.DATABASE_URL,
  pooled: variables.POOLED_DATABASE_URL,
});

/**
 * Takes the target from the first origin that has one: the options, the environment, .tock/dev.env, which `npm start`
 * writes, or .dev.vars, which `wrangler dev` reads too. The key comes from the first origin that has a key.
 */
function nearest({ url, key, databaseUrl: database }: GlobalOptions) {
  const origins: Origin[] = [
    { url, key, database },
    fromVariables(process.env),
    fromVariables(fileVariables(join(process.env.TOCK_HOME ?? '.tock', 'dev.env'))),
    fromVariables(fileVariables('.dev.vars')),
  ];
  const origin = origins.find((candidate) => (candidate.url ?? candidate.database) !== undefined);
  const keyed = origins.find((candidate) => candidate.key !== undefined);
  return { ...origin, key: keyed?.key, keyFromSameOrigin: keyed === origin };
}

/** Refuses --url together with --database-url. Every command calls it. */
export function refuseTwoTargets({ url, databaseUrl }: GlobalOptions): void {
  if (url === undefined || databaseUrl === undefined) return;
  throw new Failure('--url and --database-url exclude each other: give one.', undefined, 2);
}

/** The URL of the database, for work that HTTP does not offer. */
export function databaseUrl(options: GlobalOptions): string {
  const { url, database } = nearest(options);
  if (database) return database;
  if (url) {
    const name = options.url === undefined ? 'TOCK_URL' : '--url';
    throw new Failure(
      `${name} is for HTTP, and this command needs the database.`,
      `Give --database-url, or DATABASE_URL without ${name}.`,
      2,
    );
  }
  throw new Failure(
    'No database is configured.',
    existsSync('.dev.vars.example')
      ? 'Type: cp .dev.vars.example .dev.vars\nThen set DATABASE_URL in .dev.vars. README.md says how to start a PostgreSQL.'
      : 'Set DATABASE_URL or give --database-url; "npm start" writes one to .tock/dev.env.',
    2,
  );
}

/** The target of the calls. If one origin has a server and a database, the calls use the server. */
export function resolveTarget(options: GlobalOptions): Target {
  const { url, key, database, keyFromSameOrigin } = nearest(options);
  if (url && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    const name = options.url === undefined ? 'TOCK_URL' : '--url';
    throw new Failure(`${name} is not a URL.`, 'Give a URL like http://127.0.0.1:8787.', 2);
  }
  if (url && key !== undefined) {
    const ownDatabase = keyFromSameOrigin && database ? database : null;
    return { kind: 'http', url: url.replace(/\/+$/, ''), key, database: ownDatabase };
  }
  if (database && options.key === undefined) return { kind: 'sql', url: database };
  if (database) {
    throw new Failure(
      '--key is for HTTP, and this command goes to the database.',
      'Leave it out, or give --url.',
      2,
    );
  }
  if (url) {
    const name = options.url === undefined ? 'TOCK_URL' : '--url';
    throw new Failure(`${name} needs a key.`, 'Set TOCK_KEY, or create a key: tock key create', 2);
  }
  throw new Failure(
    'No server and no database are configured.',
    'Set TOCK_URL and TOCK_KEY, or DATABASE_URL; "npm start" writes them to .tock/dev.env.',
    2,
  );
}

/** The database behind the target, and the pooler that the Worker uses, if they are known. */
export function databaseBehind(options: GlobalOptions): {
  database: string | null;
  pooled: string | null;
} {
  const target = resolveTarget(options);
  const database = target.kind === 'http' ? target.database : target.url;
  const pooled = nearest(options).pooled || process.env.POOLED_DATABASE_URL || null;
  return { database, pooled: database && pooled };
}
