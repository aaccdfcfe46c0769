import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.ts';

export type GlobalOptions = { json?: boolean; databaseUrl?: string; url?: string; key?: string };

/** How to reach Tock: over HTTP with a key, or straight into its database. */
export type Way = { kind: 'http'; url: string; key: string } | { kind: 'sql'; url: string };

type Variables = Partial<Record<string, string>>;

/** What `npm start` wrote in the current directory: lines of NAME='value', exported or not. */
function devEnv(): Variables {
  const path = join(process.env.TOCK_HOME ?? '.tock', 'dev.env');
  if (!existsSync(path)) return {};
  const lines = readFileSync(path, 'utf8').matchAll(/^(?:export )?([A-Z_]+)=(['"]?)(.*)\2$/gm);
  return Object.fromEntries([...lines].map(([, name, , value]) => [name, value]));
}

export function databaseUrl(options: GlobalOptions): string {
  const url = options.databaseUrl ?? process.env.DATABASE_URL ?? devEnv().DATABASE_URL;
  if (url) return url;
  throw new Failure(
    'There is no database to work on.',
    'Set DATABASE_URL or give --database-url; after "npm start" .tock/dev.env has one.',
    2,
  );
}

export function databaseUrlIfAny(options: GlobalOptions): string | null {
  if (options.url && !options.databaseUrl) return null;
  return options.databaseUrl ?? process.env.DATABASE_URL ?? devEnv().DATABASE_URL ?? null;
}

function wayOf({ TOCK_URL: url, TOCK_KEY: key, DATABASE_URL: database }: Variables): Way | null {
  if (url && key) return { kind: 'http', url: url.replace(/\/+$/, ''), key };
  return database ? { kind: 'sql', url: database } : null;
}

/** Options come before the environment, that before .tock/dev.env; in each HTTP before SQL. */
export function way(options: GlobalOptions): Way {
  if (options.url && options.databaseUrl) {
    throw new Failure('--url and --database-url are two ways: give one.', undefined, 2);
  }
  const key = options.key ?? process.env.TOCK_KEY ?? devEnv().TOCK_KEY;
  const given = { TOCK_URL: options.url, TOCK_KEY: key, DATABASE_URL: options.databaseUrl };
  if (options.url && !key) {
    throw new Failure('--url needs a key.', 'Set TOCK_KEY, or make one: tock key create', 2);
  }
  const found = wayOf(given) ?? wayOf({ ...process.env, TOCK_KEY: key }) ?? wayOf(devEnv());
  if (found) return found;
  throw new Failure(
    'There is no Tock to talk to.',
    'Set TOCK_URL and TOCK_KEY, or DATABASE_URL; after "npm start" .tock/dev.env has them.',
    2,
  );
}
