import { chmodSync, chownSync, mkdirSync } from 'node:fs';
import { attempt, run } from './run.ts';

/** The user that runs PostgreSQL. It is not root, because PostgreSQL refuses to run as root. */
export type DatabaseUser = { name: string; uid: number; gid: number; switched: boolean };

export async function databaseUser(): Promise<DatabaseUser> {
  const uid = process.getuid?.() ?? -1;
  if (uid !== 0) return { name: 'you', uid, gid: process.getgid?.() ?? -1, switched: false };
  // With a Docker engine, PostgreSQL and its user may not exist on this machine.
  const name = (await hasDatabaseUser()) ? 'postgres' : 'nobody';
  const [id, group] = await Promise.all([run(['id', '-u', name]), run(['id', '-g', name])]);
  return { name, uid: Number(id), gid: Number(group), switched: true };
}

/** False on a machine where PostgreSQL was never installed, so no process or folder of it can be left. */
export async function hasDatabaseUser(): Promise<boolean> {
  return process.getuid?.() !== 0 || (await attempt(['id', '-u', 'postgres'])).code === 0;
}

/** Creates a folder that belongs to the database user. */
export function ownFolder(path: string, user: DatabaseUser): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (user.switched) chownSync(path, user.uid, user.gid);
  chmodSync(path, 0o700);
}

/** True if the user can enter the folder. Home folders are often closed to others. */
export async function canEnter(path: string, user: DatabaseUser): Promise<boolean> {
  if (!user.switched) return true;
  const { code } = await attempt(['sh', '-c', 'cd "$1"', 'sh', path], {
    uid: user.uid,
    gid: user.gid,
    cwd: '/',
  });
  return code === 0;
}
