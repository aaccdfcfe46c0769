import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { databaseParent } from './place.ts';
import { gone, signal, workingIn } from './processes.ts';
import { databaseUser, hasDatabaseUser } from './user.ts';

function running(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Removes the folders `test-<pid>-...` of test runs that were killed, and what still works there. */
export async function sweepTests(): Promise<void> {
  if (!(await hasDatabaseUser())) return;
  const parent = await databaseParent(await databaseUser());
  for (const name of readdirSync(parent)) {
    const pid = /^test-(\d+)-/.exec(name)?.[1];
    if (!pid || running(Number(pid))) continue;
    const folder = join(parent, name);
    const found = [...workingIn(folder), ...workingIn(join(folder, 'data'))];
    for (const one of found) signal(one.pid, 'SIGKILL');
    await gone(found, 5);
    rmSync(folder, { recursive: true, force: true });
  }
}
