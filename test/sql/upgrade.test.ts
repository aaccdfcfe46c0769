import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../cli/migrate.ts';
import { type Database, freshDatabase } from '../database.ts';
import { describeSchema } from './describe_schema.ts';

const source = new URL('../../sql/', import.meta.url).pathname;
const migrations = readdirSync(join(source, 'migrations')).sort();

let fresh: Database;
let schema: string;
beforeAll(async () => {
  fresh = await freshDatabase();
  schema = await describeSchema(await fresh.connect(), true);
});
afterAll(() => fresh.drop());

/** A folder like sql/ with only the first migrations and no routines yet. */
function folderWith(count: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'tock-sql-'));
  cpSync(source, folder, {
    recursive: true,
    filter: (path) => {
      const name = path.slice(source.length);
      if (/^(routines|cron)\/.+/.test(name)) return false;
      return !name.startsWith('migrations/') || migrations.indexOf(name.slice(11)) < count;
    },
  });
  return folder;
}

for (const [index, name] of migrations.entries()) {
  test(`a database left at ${name} and migrated equals a fresh one`, async () => {
    const db = await freshDatabase();
    const folder = folderWith(index + 1);
    try {
      const client = await db.connect();
      await client.query('drop schema tock cascade');
      await migrate(db.url, { directory: folder });
      const { applied } = await migrate(db.url);
      expect(applied).toHaveLength(migrations.length - index - 1);
      expect(await describeSchema(client, true)).toBe(schema);
      expect((await migrate(db.url)).applied).toEqual([]);
      expect(await describeSchema(client, true)).toBe(schema);
    } finally {
      rmSync(folder, { recursive: true });
      await db.drop();
    }
  });
}
