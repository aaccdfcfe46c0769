import type pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { type ServedApp, serveApp } from './served.ts';
import { type Outcome, tock } from './tock.ts';

type Env = () => NodeJS.ProcessEnv;
type Sql = () => { DATABASE_URL: string };
type Http = () => { TOCK_URL: string; TOCK_KEY: string };

export type Transports = {
  /** The environment for the app in the command's own process. Most commands are tested only with this one. */
  env: Sql;
  /** The environment for the app behind an HTTP server. */
  http: Http;
  /** Both environments with their names, for describe.each(). */
  both: readonly [sql: readonly ['SQL', Env], http: readonly ['HTTP', Env]];
  connect(): Promise<pg.Client>;
  /** Runs a command in the environment `env`. */
  cli(...args: string[]): Promise<Outcome>;
  /** What a command prints. It must succeed without a remark. */
  out(...args: string[]): Promise<string>;
  /** What a command prints with --json, parsed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks at whatever came
  json(...args: string[]): Promise<any>;
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
  const cli = (...args: string[]) => tock(args, { env: env() });
  const print = async (...args: string[]) => {
    const { code, out, err } = await cli(...args);
    expect([args, code, err]).toEqual([args, 0, '']);
    return out;
  };
  const http = () => ({ TOCK_URL: server.url, TOCK_KEY: key });
  return {
    env,
    http,
    both: [
      ['SQL', env],
      ['HTTP', http],
    ],
    connect: () => db.connect(),
    cli,
    out: print,
    json: async (...args) => JSON.parse(await print(...args, '--json')),
    server: () => server,
  };
}
