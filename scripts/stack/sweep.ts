import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { databasesOf, debianFolders } from './debian.ts';
import { databaseParent, memoryParent } from './place.ts';
import { gone, signal, workingUnder } from './processes.ts';
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
  const own = await databaseParent(await databaseUser());
  for (const parent of [own, memoryParent(), ...debianFolders().map(databasesOf)]) {
    if (!existsSync(parent)) continue;
    for (const name of readdirSync(parent)) {
      const pid = /^test-(\d+)-/.exec(name)?.[1];
      if (!pid || running(Number(pid))) continue;
      const folder = join(parent, name);
      const found = workingUnder(folder);
      for (const one of found) signal(one.pid, 'SIGKILL');
      await gone(found, 5);
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
