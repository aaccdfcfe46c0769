import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { Failure } from './failure.ts';

/** `name` is the path below the folder sql; `checksum` is the SHA-256 of the text in hex. */
export type SqlFile = { name: string; number: number; sql: string; checksum: string };

/**
 * `templates` are the functions of each segment (NAME.segment.sql, NAME.current.sql; see
 * sql/kernel/segment/compile.sql). `last` holds grants.sql and after_install.sql, if they exist. `nodes` is the directory
 * of several nodes, which `tock nodes init` makes.
 */
export type SqlFiles = Record<
  'migrations' | 'functions' | 'templates' | 'last' | 'cron' | 'nodes',
  SqlFile[]
>;

/** Name and kind of a template. */
export const templateName = /([a-z0-9_]+)\.(segment|current)\.sql$/;

/** Applied after all functions, in this order. */
const last = ['grants.sql', 'after_install.sql'];

const nodes = ['tables', 'directory', 'ask', 'verbs', 'router', 'grants'].map(
  (name) => `nodes/${name}.sql`,
);

/** The SQL folder of this installation: beside migrate/ in the source tree, beside dist/ in the package. */
function shipped(): string {
  const candidates = ['../sql', '../../sql'].map((path) => resolve(import.meta.dirname, path));
  const shippedDirectory = candidates.find((path) => existsSync(join(path, 'migrations')));
  if (shippedDirectory) return shippedDirectory;
  throw new Failure(
    `This installation of Tock lacks its SQL files (${candidates[1]}).`,
    'Reinstall it.',
  );
}

function readSqlFile(directory: string, name: string): SqlFile {
  // A checkout with CRLF line endings must have the same checksum.
  const sql = readFileSync(join(directory, name), 'utf8').replaceAll('\r\n', '\n');
  const checksum = createHash('sha256').update(sql).digest('hex');
  return { name, number: Number.parseInt(basename(name), 10), sql, checksum };
}

function numbered(directory: string, folderName: string, digits: number): SqlFile[] {
  const folder = join(directory, folderName);
  const names = existsSync(folder) ? readdirSync(folder).filter((n) => n.endsWith('.sql')) : [];
  const pattern = new RegExp(`^\\d{${digits}}_[a-z0-9_]+\\.sql$`);
  const wrong = names.find((name) => !pattern.test(name));
  if (wrong) {
    throw new Failure(
      `sql/${folderName}/${wrong} has no number in its name.`,
      `Name it like ${'0'.repeat(digits - 1)}1_word.sql.`,
    );
  }
  return names.sort().map((name) => readSqlFile(directory, `${folderName}/${name}`));
}

/** The functions: all files that are neither migrations nor schedules nor of the directory, in any order. */
function functionFiles(directory: string): SqlFile[] {
  const others = new Set([...last, 'schema.sql']);
  return readdirSync(directory, { recursive: true })
    .map((name) => `${name}`.replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.sql') && !/^(migrations|cron|nodes)\//.test(name))
    .filter((name) => !others.has(name))
    .sort()
    .map((name) => readSqlFile(directory, name));
}

/** Reads all SQL files, each kind in order. */
export function readSql(directory: string = shipped()): SqlFiles {
  const migrations = numbered(directory, 'migrations', 4);
  if (migrations.length === 0) {
    throw new Failure(
      `${directory} contains no migrations.`,
      'Give the folder that contains migrations/.',
    );
  }
  const duplicate = migrations.find((file, at) => file.number === migrations[at - 1]?.number);
  if (duplicate) {
    throw new Failure(
      `Two migrations have the number of ${basename(duplicate.name)}.`,
      'Give the newer one the next free number.',
    );
  }
  const functions = functionFiles(directory);
  const isTemplate = ({ name }: SqlFile) => templateName.test(name);
  const existing = (names: string[]) =>
    names
      .filter((name) => existsSync(join(directory, name)))
      .map((name) => readSqlFile(directory, name));
  return {
    migrations,
    functions: functions.filter((file) => !isTemplate(file)),
    templates: functions.filter(isTemplate),
    last: existing(last),
    nodes: existing(nodes),
    cron: numbered(directory, 'cron', 2),
  };
}
