import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Identifies a process. A later process with the same pid has another `born`. */
export type ProcessIdentity = { pid: number; born: string };

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Fields of /proc/<pid>/stat after the name, which may contain spaces and parentheses. */
function statFields(pid: number): string[] | undefined {
  const stat = read(`/proc/${pid}/stat`);
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function birth(pid: number): string | null {
  if (process.platform === 'linux') {
    const fields = statFields(pid);
    return fields?.[0] === 'Z' ? null : (fields?.[19] ?? null);
  }
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

export function identify(pid: number): ProcessIdentity {
  return { pid, born: birth(pid) ?? '' };
}

export function alive({ pid, born }: ProcessIdentity): boolean {
  return birth(pid) === born && born !== '';
}

/** Sends a signal to a process, or with a negative pid to a group. Returns false if it has ended. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

/** Waits until all processes have ended. Returns false if that takes longer than `seconds`. */
export async function waitUntilEnded(
  processes: ProcessIdentity[],
  seconds: number,
): Promise<boolean> {
  const deadline = performance.now() + seconds * 1000;
  while (processes.some(alive)) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  return true;
}

function pids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

export function childrenOf(parent: number): ProcessIdentity[] {
  return pids()
    .filter((pid) => statFields(pid)?.[1] === String(parent))
    .map(identify);
}

function processesWhere(chosen: (folder: string) => boolean): ProcessIdentity[] {
  return pids()
    .filter((pid) => {
      try {
        return chosen(readlinkSync(`/proc/${pid}/cwd`));
      } catch {
        return false;
      }
    })
    .map(identify);
}

/** Processes whose working directory is the folder. For a data folder these are its postmaster and the children. */
export function processesIn(folder: string): ProcessIdentity[] {
  return processesWhere((directory) => directory === folder);
}

/** Processes whose working directory is a folder or one below it. */
export function processesUnder(folder: string): ProcessIdentity[] {
  return processesWhere((directory) => `${directory}/`.startsWith(`${folder}/`));
}
