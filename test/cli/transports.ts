import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { type ServedApp, serveApp } from './served.ts';
import { tock } from './tock.ts';

type Env = () => NodeJS.ProcessEnv;

export type Transports = {
  /** The environment for the app in the command's own process. Most commands are tested only with this one. */
  env: Env;
  /** The environment for the app behind an HTTP server. */
  http: Env;
  /** Both environments with their names, for describe.each(). */
  both: readonly [sql: readonly ['SQL', Env], http: readonly ['HTTP', Env]];
  connect(): Promise<pg.Client>;
  server(): ServedApp;
};

/** Creates a database for a test file. Commands reach it by its URL, and over HTTP with a key of these scopes. */
export function transports(scope: string): Transports {
  let db: Database;
  let server: ServedApp;
  let key: string;
  beforeAll(async () => {
    db = await freshDatabase();
    server = await serveApp(db);
    const args = ['key', 'create', 'all', '--scope', scope, '--json'];
    key = JSON.parse((await tock(args, { env: { DATABASE_URL: db.url } })).out).key;
  });
  afterAll(async () => {
    server.close();
    await db.drop();
  });
  const env = () => ({ DATABASE_URL: db.url });
  const http = () => ({ TOCK_URL: server.url, TOCK_KEY: key });
  return {
    env,
    http,
    both: [
      ['SQL', env],
      ['HTTP', http],
    ],
    connect: () => db.connect(),
    server: () => server,
  };
}
