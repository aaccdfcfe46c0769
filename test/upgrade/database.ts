import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../migrate/migrate.ts';
import { freshDatabase } from '../database.ts';

// test/mutants/run.ts sets this to a changed copy of sql/.
export const source = process.env.TOCK_SQL_DIRECTORY ?? join(import.meta.dirname, '../../sql');

/** A database without Tock. */
export const bareDatabase = () => freshDatabase('template0');

/** Makes a copy of sql/ with these files added, by their paths in it. `wanted` selects the files to copy. */
export async function withCopy<T>(
  files: Record<string, string>,
  use: (directory: string) => Promise<T>,
  wanted: (path: string) => boolean = () => true,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'tock-sql-'));
  try {
    const filter = (path: string) => wanted(path.slice(source.length + 1));
    cpSync(source, folder, { recursive: true, filter });
    for (const [path, sql] of Object.entries(files)) writeFileSync(join(folder, path), sql);
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

type Options = Parameters<typeof migrate>[1];

export const upgrade = (url: string, options: Options = {}) =>
  migrate(url, { directory: source, ...options });
