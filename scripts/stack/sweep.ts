import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { databasesOf, debianFolders } from './debian.ts';
import { databaseParent, memoryParent } from './paths.ts';
import { processesUnder, signal, waitUntilEnded } from './processes.ts';
import { databaseUser, hasDatabaseUser } from './user.ts';

function running(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Removes the folders `test-<pid>-...` of killed test runs, and ends the processes in them. */
export async function sweepTests(): Promise<void> {
  if (!(await hasDatabaseUser())) return;
  const ownParent = await databaseParent(await databaseUser());
  for (const parent of [ownParent, memoryParent(), ...debianFolders().map(databasesOf)]) {
    if (!existsSync(parent)) continue;
    for (const name of readdirSync(parent)) {
      const pid = /^test-(\d+)-/.exec(name)?.[1];
      if (!pid || running(Number(pid))) continue;
      const folder = join(parent, name);
      const processes = processesUnder(folder);
      for (const leftover of processes) signal(leftover.pid, 'SIGKILL');
      await waitUntilEnded(processes, 5);
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
