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
import { alive, childrenOf, gone, mark, signal, workingIn } from './processes.ts';
import { ended, lastLines, run } from './run.ts';
import type { DatabaseUser } from './user.ts';

/** This machine as a host; `folder` must be one that the database user can enter. */
export function machine(
  installed: Installed,
  user: DatabaseUser,
  folder: string,
  stopping?: AbortSignal,
): Host {
  const identity = user.switched ? { uid: user.uid, gid: user.gid } : {};
  const env = { PATH: process.env.PATH, HOME: folder, LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' };
  return {
    name: `PostgreSQL ${installed.major} from the system's packages`,
    major: installed.major,
    bin: installed.bin,
    pgbouncer: installed.pgbouncer,
    folder,
    listen: '127.0.0.1',
    local: true,
    ...(stopping && { signal: stopping }),
    run: (argv) =>
      run(argv, { ...identity, env, cwd: folder, ...(stopping && { signal: stopping }) }),
    async start(argv, { log, orphaned }) {
      stopping?.throwIfAborted();
      // The kernel sends the signal when this process dies, even by kill -9.
      const keeper = ['setpriv', '--pdeathsig', orphaned.replace('SIG', '')];
      if (user.switched) {
        keeper.push(`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups');
      }
      const [program = '', ...args] = [...keeper, '--', ...argv];
      const out = openSync(log, 'w', 0o600);
      const child = spawn(program, args, {
        env,
        cwd: folder,
        detached: true,
        stdio: ['ignore', out, out],
      });
      closeSync(out);
      const over = ended(child);
      if (!child.pid) {
        throw new Error(
          `${program} is missing. Install it (on Debian: apt-get install util-linux).`,
        );
      }
      const { pid } = child;
      return { pid, ended: over, signal: async (name) => void signal(pid, name) };
    },
    logged: async (log) => (existsSync(log) ? lastLines(readFileSync(log, 'utf8')) : ''),
    read: async (path) => (existsSync(path) ? readFileSync(path, 'utf8') : null),
    async write(path, text) {
      writeFileSync(path, text, { mode: 0o600 });
      if (user.switched) chownSync(path, user.uid, user.gid);
    },
    remove: async (path) => rmSync(path, { recursive: true, force: true }),
    async clear(path) {
      const found = workingIn(path);
      // A postmaster that gets SIGINT stops its children; ones without a postmaster need SIGKILL.
      for (const { pid } of found) signal(pid, 'SIGINT');
      if (await gone(found, 10)) return;
      for (const { pid } of found.filter(alive)) signal(pid, 'SIGKILL');
      await gone(found, 10);
    },
    async kill9(pid) {
      const all = [mark(pid), ...childrenOf(pid)];
      for (const one of all) signal(one.pid, 'SIGKILL');
      await gone(all, 10);
    },
  };
}
