import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** A process that can be told from a later one with the same pid. */
export type ProcessMark = { pid: number; born: string };

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

/** Fields of /proc/<pid>/stat after the name, which may hold spaces and parentheses. */
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

export function mark(pid: number): ProcessMark {
  return { pid, born: birth(pid) ?? '' };
}

export function alive({ pid, born }: ProcessMark): boolean {
  return birth(pid) === born && born !== '';
}

/** Sends a signal; false when the process (or with a negative pid, the whole group) is gone. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

/** Waits until all are gone; false when that takes longer than `seconds`. */
export async function gone(marks: ProcessMark[], seconds: number): Promise<boolean> {
  const deadline = performance.now() + seconds * 1000;
  while (marks.some(alive)) {
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

export function childrenOf(parent: number): ProcessMark[] {
  return pids()
    .filter((pid) => statFields(pid)?.[1] === String(parent))
    .map(mark);
}

function workingWhere(chosen: (folder: string) => boolean): ProcessMark[] {
  return pids()
    .filter((pid) => {
      try {
        return chosen(readlinkSync(`/proc/${pid}/cwd`));
      } catch {
        return false;
      }
    })
    .map(mark);
}

/** Processes working in a folder: for a data folder, its postmaster and every child of it. */
export function workingIn(folder: string): ProcessMark[] {
  return workingWhere((place) => place === folder);
}

/** Processes working in a folder or in one below it. */
export function workingUnder(folder: string): ProcessMark[] {
  return workingWhere((place) => `${place}/`.startsWith(`${folder}/`));
}
