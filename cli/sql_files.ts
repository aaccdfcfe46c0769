import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export type SqlFile = { name: string; number: number; text: string; checksum: string };

export type SqlFiles = { migrations: SqlFile[]; routines: SqlFile[]; cron: SqlFile[] };

/** The sql folder: beside cli/ in the source tree, beside dist/ in the built package. */
export function sqlDirectory(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, 'sql', 'migrations'))) {
    if (folder === dirname(folder)) throw new Error('The sql folder is missing from this package.');
    folder = dirname(folder);
  }
  return join(folder, 'sql');
}

/** Files are applied in the order of their numbers; a migration's checksum is SHA-256 of its text. */
export function readSqlFiles(directory: string): SqlFiles {
  const read = (part: string) =>
    readdirSync(join(directory, part))
      .filter((name) => name.endsWith('.sql'))
      .sort()
      .map((name) => {
        const text = readFileSync(join(directory, part, name), 'utf8');
        const checksum = createHash('sha256').update(text).digest('hex');
        return { name: `${part}/${name}`, number: Number.parseInt(name, 10), text, checksum };
      });
  return { migrations: read('migrations'), routines: read('routines'), cron: read('cron') };
}
