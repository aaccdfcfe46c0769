import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { childrenOf } from '../scripts/stack/processes.ts';

const root = '/sys/fs/cgroup';
const isFirstVersion = existsSync(`${root}/cpu/cpu.cfs_quota_us`);
// A short period, so that a process that has used up its share waits only for milliseconds.
const PERIOD_US = 20_000;

export type Quota = {
  /** Sets the share of one core; null for no limit. */
  set(cores: number | null): void;
  /** Removes the group, after its processes have ended. */
  remove(): void;
};

/** Why this machine does not limit CPU time; null if it does. */
export function noQuota(): string | null {
  const name = `tock-bench-${process.pid}`;
  try {
    quotaOf(name, null).remove();
    return null;
  } catch (error) {
    return `this machine has no writable cgroup for CPU time: ${(error as Error).message}`;
  }
}

/** Limits the CPU time of a process, its children and those that they start. Throws if this machine doesn't allow it. */
export function quotaOf(name: string, pid: number | null): Quota {
  const folder = join(root, isFirstVersion ? 'cpu' : '', name);
  const write = (file: string, text: string | number) =>
    writeFileSync(join(folder, file), `${text}`);
  if (!isFirstVersion) writeFileSync(join(root, 'cgroup.subtree_control'), '+cpu');
  mkdirSync(folder);
  for (const member of pid === null ? [] : [pid, ...childrenOf(pid).map((child) => child.pid)])
    write('cgroup.procs', member);
  return {
    set(cores) {
      const quota = cores === null ? null : Math.round(cores * PERIOD_US);
      if (!isFirstVersion) return write('cpu.max', `${quota ?? 'max'} ${PERIOD_US}`);
      write('cpu.cfs_period_us', PERIOD_US);
      write('cpu.cfs_quota_us', quota ?? -1);
    },
    remove: () => rmdirSync(folder),
  };
}
