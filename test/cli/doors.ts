import type pg from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { type Database, freshDatabase } from '../database.ts';
import { type Served, served } from './served.ts';
import { tock } from './tock.ts';

type Env = () => NodeJS.ProcessEnv;

export type BothDoors = {
  /** For describe.each: a name, and the environment that leads there. */
  doors: readonly [sql: readonly ['SQL', Env], http: readonly ['HTTP', Env]];
  /** The first alone, for what is the same by both: each command's calls are written once. */
  one: readonly [readonly ['SQL', Env]];
  connect(): Promise<pg.Client>;
  server(): Served;
};

/** A database of the file's own, by its URL and over HTTP with a key of these scopes. */
export function bothDoors(scope: string): BothDoors {
  let db: Database;
  let server: Served;
  let key: string;
  beforeAll(async () => {
    db = await freshDatabase();
    server = await served(db);
    const args = ['key', 'create', 'all', '--scope', scope, '--json'];
    key = JSON.parse((await tock(args, { env: { DATABASE_URL: db.url } })).out).key;
  });
  afterAll(async () => {
    server.close();
    await db.drop();
  });
  const sql = ['SQL', () => ({ DATABASE_URL: db.url })] as const;
  return {
    doors: [sql, ['HTTP', () => ({ TOCK_URL: server.url, TOCK_KEY: key })]],
    one: [sql],
    connect: () => db.connect(),
    server: () => server,
  };
}
