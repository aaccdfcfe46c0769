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

/** The folder for everything that this checkout creates: `.tock`, or TOCK_HOME. */
export function home(): string {
  const path = resolve(process.env.TOCK_HOME ?? join(checkout, '.tock'));
  mkdirSync(path, { recursive: true });
  // The database user must be able to pass through the folder. The files inside are closed to other users.
  chmodSync(path, 0o711);
  return realpathSync(path);
}

/**
 * The parent of the database user's folders: `.tock` itself. If that user cannot enter it, for example in a closed home
 * folder, the parent is a folder under /var/lib/tock. `.tock/data.path` then has its name.
 */
export async function databaseParent(user: DatabaseUser): Promise<string> {
  const pointer = join(home(), 'data.path');
  if (existsSync(pointer)) {
    const recorded = readFileSync(pointer, 'utf8').trim();
    mkdirSync(recorded, { recursive: true, mode: 0o755 });
    return recorded;
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

// Test databases are in memory if there is room: a clone of the template (566 files) takes 95 ms of a core on ext4, and
// 15 ms in memory.
const memory = '/dev/shm';
const MIN_FREE_BYTES = 6e9;

function hasRoom(): boolean {
  if (!existsSync(memory)) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > MIN_FREE_BYTES && freemem() > MIN_FREE_BYTES;
}

/** The folder in memory, if it exists, for temporary data of this checkout. */
export function memoryParent(): string {
  const hash = createHash('sha256').update(home()).digest('hex').slice(0, 12);
  return join(memory, `tock-${hash}`);
}

/** Like databaseFolder(), for temporary data. The folder is in memory if enough memory is free. */
export async function passingFolder(name: string, user: DatabaseUser): Promise<string> {
  if (!hasRoom()) return databaseFolder(name, user);
  mkdirSync(memoryParent(), { recursive: true, mode: 0o755 });
  const path = join(memoryParent(), name);
  ownFolder(path, user);
  return path;
}
