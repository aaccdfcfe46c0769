import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Failure } from './failure.ts';

/** `name` is the path below the folder sql; `checksum` the SHA-256 of the text in hex. */
export type SqlFile = { name: string; number: number; sql: string; checksum: string };

/**
 * `templates` are the functions that each segment has (NAME.segment.sql, NAME.current.sql; see
 * sql/kernel/segment/compile.sql); `last` holds grants.sql and after_install.sql, as far as they are there.
 */
export type SqlFiles = Record<
  'migrations' | 'functions' | 'templates' | 'last' | 'cron',
  SqlFile[]
>;

/** A template's name and kind. */
export const templateName = /([a-z0-9_]+)\.(segment|current)\.sql$/;

/** Applied after all functions, in this order. */
const last = ['grants.sql', 'after_install.sql'];

/** From the source tree (migrate) or from the built package (dist/migrate). */
function shipped(): string {
  const places = ['../sql', '../../sql'].map((path) => resolve(import.meta.dirname, path));
  const found = places.find((path) => existsSync(join(path, 'migrations')));
  if (found) return found;
  throw new Failure(`This installation of Tock lacks its SQL (${places[1]}).`, 'Install it again.');
}

function fileOf(directory: string, name: string): SqlFile {
  // A checkout with CRLF line ends must give the same checksum.
  const sql = readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n');
  const checksum = createHash('sha256').update(sql).digest('hex');
  return { name, number: Number.parseInt(basename(name), 10), sql, checksum };
}

function numbered(directory: string, part: string, digits: number): SqlFile[] {
  const folder = join(directory, part);
  const names = existsSync(folder) ? readdirSync(folder).filter((n) => n.endsWith('.sql')) : [];
  const pattern = new RegExp(`^\\d{${digits}}_[a-z0-9_]+\\.sql$`);
  const wrong = names.find((name) => !pattern.test(name));
  if (wrong) {
    throw new Failure(
      `sql/${part}/${wrong} has no number in its name.`,
      `Name it like ${'0'.repeat(digits - 1)}1_word.sql.`,
    );
  }
  return names.sort().map((name) => fileOf(directory, `${part}/${name}`));
}

/** What is neither migrated nor scheduled: the functions, by path. The order of functions does not matter. */
function functionsIn(directory: string): SqlFile[] {
  const other = new Set([...last, 'schema.sql']);
  return readdirSync(directory, { recursive: true })
    .map((name) => `${name}`.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.sql') && !/^(migrations|cron)\//.test(name))
    .filter((name) => !other.has(name))
    .sort()
    .map((name) => fileOf(directory, name));
}

/** Every SQL file that this Tock brings, each part in order. */
export function readSql(directory: string = shipped()): SqlFiles {
  const migrations = numbered(directory, 'migrations', 4);
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
  const functions = functionsIn(directory);
  const isTemplate = ({ name }: SqlFile) => templateName.test(name);
  return {
    migrations,
    functions: functions.filter((file) => !isTemplate(file)),
    templates: functions.filter(isTemplate),
    last: last.filter((name) => existsSync(join(directory, name))).map((n) => fileOf(directory, n)),
    cron: numbered(directory, 'cron', 2),
  };
}
