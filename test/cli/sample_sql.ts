import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { makeDatabase, withClient } from '../../scripts/stack/roles.ts';
import { stackInfo } from '../database.ts';

export const sampleFiles = {
  'migrations/0001_things.sql': 'create table tock.things (id integer primary key);\n',
  'kernel/things.sql':
    'create or replace function tock.two() returns integer language sql as $$ select 2 $$;\n',
};

/** Creates a folder like sql/ with these files. It is removed after the test. */
export function makeSampleSql(files: Record<string, string> = sampleFiles): string {
  const folder = mkdtempSync(join(tmpdir(), 'tock-sql-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  addSql(folder, files);
  return folder;
}

export function addSql(folder: string, files: Record<string, string>): void {
  for (const [name, sql] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), sql);
  }
}

export type EmptyDatabase = {
  name: string;
  /** The URL of tock, which owns the database. */
  url: string;
  superUrl: string;
  connect(url?: string): Promise<pg.Client>;
  query(sql: string): Promise<Record<string, unknown>[]>;
};

/** Creates an empty database without pg_cron. It is dropped after the test. */
export async function emptyDatabase(): Promise<EmptyDatabase> {
  const stack = stackInfo();
  const name = `tock_empty_${randomBytes(5).toString('hex')}`;
  await makeDatabase(stack.superUrl, name);
  const clients: pg.Client[] = [];
  onTestFinished(async () => {
    await Promise.all(clients.map((client) => client.end().catch(() => {})));
    await withClient(stack.superUrl, (c) => c.query(`drop database ${name} with (force)`));
  });
  const superUrl = new URL(stack.superUrl);
  superUrl.pathname = `/${name}`;
  const url = new URL(superUrl);
  url.username = 'tock';
  url.password = stack.ownerPassword;
  return {
    name,
    url: url.href,
    superUrl: superUrl.href,
    async connect(to = url.href) {
      const client = new pg.Client({ connectionString: to });
      client.on('error', () => {});
      await client.connect();
      clients.push(client);
      return client;
    },
    query: (sql) => withClient(url.href, async (client) => (await client.query(sql)).rows),
  };
}
