import { spawn } from 'node:child_process';
import {
  chownSync,
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import type { Host } from './host.ts';
import type { Installed } from './packages.ts';
import { alive, childrenOf, identify, processesIn, signal, waitUntilEnded } from './processes.ts';
import { ended, lastLines, run } from './run.ts';
import type { DatabaseUser } from './user.ts';

export type MachineOptions = {
  installed: Installed;
  origin: string;
  user: DatabaseUser;
  /** A folder that the database user can enter. */
  folder: string;
  /** The folder that programs see as their root. Paths must mean the same inside and outside. */
  root?: string;
  signal?: AbortSignal | undefined;
};

/** This machine as a host. */
export function machine(options: MachineOptions): Host {
  const { installed, origin, user, folder, root, signal: stopping } = options;
  const locale = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };
  const env = {
    PATH: `${process.env.PATH}:/usr/sbin:/usr/bin:/sbin:/bin`,
    HOME: folder,
    ...locale,
  };

  /** Builds the command that runs as the database user in the folder; `keep` is passed to setpriv. */
  function command(argv: string[], keep: string[] = []): string[] {
    const identity = user.switched
      ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups']
      : [];
    const orders = [...keep, ...identity];
    const switched = orders.length > 0 ? ['setpriv', ...orders, '--'] : [];
    return root
      ? ['chroot', root, ...switched, 'env', '-C', folder, ...argv]
      : [...switched, ...argv];
  }

  return {
    ...installed,
    origin,
    folder,
    listen: '127.0.0.1',
    local: true,
    ...(stopping && { signal: stopping }),
    run: (argv) => run(command(argv), { env, cwd: folder, ...(stopping && { signal: stopping }) }),
    async start(argv, { log, orphaned }) {
      stopping?.throwIfAborted();
      // The kernel sends the signal when this process dies, even by kill -9.
      const keeper = ['--pdeathsig', orphaned.replace('SIG', '')];
      const [program = '', ...args] = command(argv, keeper);
      const logFile = openSync(log, 'w', 0o600);
      const child = spawn(program, args, {
        env,
        cwd: folder,
        detached: true,
        stdio: ['ignore', logFile, logFile],
      });
      closeSync(logFile);
      const hasEnded = ended(child);
      if (!child.pid) {
        throw new Error(
          `${program} is missing. Install it (on Debian: apt-get install util-linux).`,
        );
      }
      const { pid } = child;
      return { pid, ended: hasEnded, signal: async (name) => void signal(pid, name) };
    },
    logged: async (log) => (existsSync(log) ? lastLines(readFileSync(log, 'utf8')) : ''),
    read: async (path) => (existsSync(path) ? readFileSync(path, 'utf8') : null),
    async write(path, text) {
      writeFileSync(path, text, { mode: 0o600 });
      if (user.switched) chownSync(path, user.uid, user.gid);
    },
    remove: async (path) => rmSync(path, { recursive: true, force: true }),
    async clear(path) {
      const processes = processesIn(path);
      // A postmaster stops its children after SIGINT. Children whose postmaster has died need SIGKILL.
      for (const { pid } of processes) signal(pid, 'SIGINT');
      if (await waitUntilEnded(processes, 10)) return;
      for (const { pid } of processes.filter(alive)) signal(pid, 'SIGKILL');
      await waitUntilEnded(processes, 10);
    },
    async kill9(pid) {
      const all = [identify(pid), ...childrenOf(pid)];
      for (const running of all) signal(running.pid, 'SIGKILL');
      await waitUntilEnded(all, 10);
    },
  };
}
