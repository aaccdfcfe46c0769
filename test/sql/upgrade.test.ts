import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../migrate/migrate.ts';
import { type Database, freshDatabase } from '../database.ts';
import { bareDatabase, directory, releasedDatabase, upgrade } from '../upgrade/database.ts';
import { releases } from '../upgrade/released.ts';
import { describeSchema } from './describe_schema.ts';

const source = directory ? join(directory, '/') : new URL('../../sql/', import.meta.url).pathname;
const migrations = readdirSync(join(source, 'migrations')).sort();

// Epochs that were made ahead before a migration have to be like those that are made after it.
const ahead = 'select tock.rotate(p_ahead => 4, p_width => 5000)';

// A leaf's CHECK only spares a scan when it is attached, and a fillfactor of 100 is the default.
const inUse = (text: string) =>
  text.replace(/\n {2}(constraint \w+_\d+_epoch CHECK .*|with \(fillfactor=100\))/g, '');

let fresh: Database;
let schema: string;
let schemaAhead: string;
beforeAll(async () => {
  fresh = await freshDatabase();
  const client = await fresh.connect();
  schema = await describeSchema(client, true);
  await client.query(ahead);
  schemaAhead = await describeSchema(client, true);
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
    const db = await bareDatabase();
    const folder = folderWith(index + 1);
    try {
      const client = await db.connect();
      await migrate(db.url, { directory: folder });
      const { applied } = await upgrade(db);
      expect(applied).toHaveLength(migrations.length - index - 1);
      expect(await describeSchema(client, true)).toBe(schema);
    } finally {
      rmSync(folder, { recursive: true });
      await db.drop();
    }
  });
}

test('migrated again it stays as it is', async () => {
  const client = await fresh.connect();
  expect((await upgrade(fresh)).applied).toEqual([]);
  expect(await describeSchema(client, true)).toBe(schemaAhead);
});

for (const release of releases) {
  test(`a database of release ${release} and migrated equals a fresh one, its epochs too`, async () => {
    const db = await releasedDatabase(release);
    const client = await db.connect();
    const { applied } = await upgrade(db);
    expect(applied.length).toBeGreaterThan(0);
    expect(await describeSchema(client, true)).toBe(schema);
    await db.drop();

    const grown = await releasedDatabase(release);
    const other = await grown.connect();
    await other.query(ahead);
    await upgrade(grown);
    expect(inUse(await describeSchema(other, true))).toBe(inUse(schemaAhead));
    await grown.drop();
  });
}
