import { migrate } from '../../cli/migrate.ts';
import { type Database, freshDatabase } from '../database.ts';
import { withRelease } from './released.ts';

// scripts/mutants.ts changes a copy of sql/.
export const directory = process.env.TOCK_SQL_DIRECTORY;

/** A database with nothing of Tock's in it. */
export const bareDatabase = () => freshDatabase('template0');

/** A database as a release left it. */
export async function releasedDatabase(name: string): Promise<Database> {
  const db = await bareDatabase();
  await withRelease(name, (folder) => migrate(db.url, { directory: folder }));
  return db;
}

type Options = Parameters<typeof migrate>[1];

/** Brings it to this version. */
export const upgrade = (db: Database, options: Options = {}) =>
  migrate(db.url, { directory, ...options });
