import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Failure } from './failure.ts';

/** `name` is the path below the folder sql; `checksum` the SHA-256 of the text in hex. */
export type SqlFile = { name: string; number: number; sql: string; checksum: string };

export type SqlFiles = { migrations: SqlFile[]; routines: SqlFile[]; cron: SqlFile[] };

/** From the source tree (migrate) or from the built package (dist/migrate). */
function shipped(): string {
  const places = ['../sql', '../../sql'].map((path) => resolve(import.meta.dirname, path));
  const found = places.find((path) => existsSync(join(path, 'migrations')));
  if (found) return found;
  throw new Failure(`This installation of Tock lacks its SQL (${places[1]}).`, 'Install it again.');
}

function read(directory: string, part: string, digits: number): SqlFile[] {
  const folder = join(directory, part);
  const names = existsSync(folder) ? readdirSync(folder).filter((n) => n.endsWith('.sql')) : [];
  const pattern = new RegExp(`^\\d{${digits}}_[a-z0-9_]+\\.sql$`);
  const files = names.sort().map((name) => {
    if (!pattern.test(name)) {
      const example = `${'0'.repeat(digits - 1)}1_word.sql`;
      throw new Failure(
        `sql/${part}/${name} has no number in its name.`,
        `Name it like ${example}.`,
      );
    }
    // A checkout with CRLF line ends must give the same checksum.
    const sql = readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n');
    const checksum = createHash('sha256').update(sql).digest('hex');
    return { name: `${part}/${name}`, number: Number.parseInt(name, 10), sql, checksum };
  });
  return files;
}

/** Every SQL file that this Tock brings, each part in order. */
export function readSql(directory: string = shipped()): SqlFiles {
  const migrations = read(directory, 'migrations', 4);
  if (migrations.length === 0) {
    throw new Failure(
      `${directory} holds no migrations.`,
      'Name the folder that holds migrations/.',
    );
  }
  const twice = migrations.find((file, at) => file.number === migrations[at - 1]?.number);
  if (twice) {
    throw new Failure(
      `Two migrations have the number of ${basename(twice.name)}.`,
      'Give the newer one the next free number.',
    );
  }
  return { migrations, routines: read(directory, 'routines', 2), cron: read(directory, 'cron', 2) };
}
