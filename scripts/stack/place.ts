import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { freemem } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { canEnter, type DatabaseUser, ownFolder } from './user.ts';

export const checkout = resolve(import.meta.dirname, '../..');

/** Where this checkout keeps what it makes: `.tock`, or TOCK_HOME. */
export function home(): string {
  const path = resolve(process.env.TOCK_HOME ?? join(checkout, '.tock'));
  mkdirSync(path, { recursive: true });
  // Others may pass through, as the database user must; the files inside are closed.
  chmodSync(path, 0o711);
  return realpathSync(path);
}

/**
 * The folder that holds the folders of the database user: `.tock` itself, or where that user can't
 * get there (a checkout under a closed home) one under /var/lib/tock, named in `.tock/data.path`.
 */
export async function databaseParent(user: DatabaseUser): Promise<string> {
  const pointer = join(home(), 'data.path');
  if (existsSync(pointer)) {
    const kept = readFileSync(pointer, 'utf8').trim();
    mkdirSync(kept, { recursive: true, mode: 0o755 });
    return kept;
  }
  if (await canEnter(home(), user)) return home();
  const hash = createHash('sha256').update(home()).digest('hex').slice(0, 12);
  const parent = join('/var/lib/tock', `${basename(checkout)}-${hash}`);
  mkdirSync(parent, { recursive: true, mode: 0o755 });
  writeFileSync(pointer, `${parent}\n`);
  return parent;
}

export async function databaseFolder(name: string, user: DatabaseUser): Promise<string> {
  const path = join(await databaseParent(user), name);
  ownFolder(path, user);
  return path;
}

// A clone of the template is 566 files: 95 ms of a core on ext4, 15 in memory.
const memory = '/dev/shm';
const enough = 6e9;

function hasRoom(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > enough && freemem() > enough;
}

/** The folder in memory, if there is one yet, that holds what this checkout throws away. */
export function memoryParent(): string {
  const hash = createHash('sha256').update(home()).digest('hex').slice(0, 12);
  return join(memory, `tock-${hash}`);
}

/** As databaseFolder(), for what is thrown away: in memory where there is plenty of it. */
export async function passingFolder(name: string, user: DatabaseUser): Promise<string> {
  if (!hasRoom()) return databaseFolder(name, user);
  mkdirSync(memoryParent(), { recursive: true, mode: 0o755 });
  const path = join(memoryParent(), name);
  ownFolder(path, user);
  return path;
}
