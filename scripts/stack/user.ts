import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { attempt, run } from './run.ts';

/** Who runs PostgreSQL: never root, which it refuses. */
export type DatabaseUser = { name: string; uid: number; gid: number; switched: boolean };

export async function databaseUser(): Promise<DatabaseUser> {
  const uid = process.getuid?.() ?? -1;
  if (uid !== 0) return { name: 'you', uid, gid: process.getgid?.() ?? -1, switched: false };
  // With a Docker engine nobody has installed PostgreSQL here, nor made its user.
  const name = (await hasDatabaseUser()) ? 'postgres' : 'nobody';
  const [id, group] = await Promise.all([run(['id', '-u', name]), run(['id', '-g', name])]);
  return { name, uid: Number(id), gid: Number(group), switched: true };
}

/** False on a machine where PostgreSQL was never installed: then nothing of it can be left behind. */
export async function hasDatabaseUser(): Promise<boolean> {
  return process.getuid?.() !== 0 || (await attempt(['id', '-u', 'postgres'])).code === 0;
}

/** Makes a folder that belongs to the database user alone. */
export function ownFolder(path: string, user: DatabaseUser): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (user.switched) chownSync(path, user.uid, user.gid);
  chmodSync(path, 0o700);
}

/** Whether the user can get into the folder: a home is often closed to everybody else. */
export async function canEnter(path: string, user: DatabaseUser): Promise<boolean> {
  if (!user.switched) return true;
  const { code } = await attempt(['sh', '-c', 'cd "$1"', 'sh', path], {
    uid: user.uid,
    gid: user.gid,
    cwd: '/',
  });
  return code === 0;
}
