import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { secrets, writeSecret } from './files.ts';
import { checkout, home } from './place.ts';
import { gone, mark, signal } from './processes.ts';
import { ended, lastLines } from './run.ts';

export type Worker = { pid: number; log: string; ended: Promise<void>; stop(): Promise<void> };

const quiet = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  NO_COLOR: '1',
  // Whoever starts it has made the dashboard.
  TOCK_BUILT: '1',
};

/** Another Worker than functions/index.ts, which has files of its own by its name. */
export type Other = { name?: string; entry?: string; vars?: Record<string, string> };

/** Starts the Worker in workerd; it answers once `healthy` resolves. */
export function startWorker(
  port: number,
  databaseUrl: string,
  { name = 'worker', entry, vars: more = {} }: Other = {},
): Worker {
  const wrangler = join(checkout, 'node_modules', '.bin', 'wrangler');
  // In a file rather than in an argument, which every user of the machine could read.
  const own = { TOCK_PUSH_SECRET: secrets().push, TOCK_PUSH_PRIVATE: 'allow' };
  const all = Object.entries({ DATABASE_URL: databaseUrl, ...own, ...more });
  const vars = writeSecret(`${name}.env`, all.map(([key, text]) => `${key}='${text}'\n`).join(''));
  const argv = [process.execPath, wrangler, 'dev', ...(entry ? [entry] : ['--env', 'local'])];
  argv.push('--local', '--ip', '127.0.0.1');
  argv.push('--port', String(port), '--inspector-port', '0', '--env-file', vars);
  argv.push('--persist-to', join(home(), name), '--log-level', 'warn');
  argv.push('--show-interactive-dev-session=false');
  if (process.platform === 'linux') argv.unshift('setpriv', '--pdeathsig', 'TERM', '--');
  const [program = '', ...args] = argv;
  const log = join(home(), `${name}.log`);
  const out = openSync(log, 'w', 0o600);
  const child = spawn(program, args, {
    cwd: checkout,
    env: { ...process.env, ...quiet, XDG_CONFIG_HOME: join(home(), name) },
    detached: true,
    stdio: ['ignore', out, out],
  });
  closeSync(out);
  const pid = child.pid ?? 0;
  const self = mark(pid);
  const over = ended(child);
  return {
    pid,
    log,
    ended: over,
    async stop() {
      signal(pid, 'SIGTERM');
      await gone([self], 5);
      // workerd is in the same group: nothing of it may stay.
      const deadline = performance.now() + 2000;
      while (signal(-pid, 'SIGKILL') && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await over;
    },
  };
}

export async function healthy(url: string, worker: Worker, stopping: AbortSignal): Promise<void> {
  const deadline = performance.now() + 180_000;
  let over = false;
  let last = 'no answer';
  void worker.ended.then(() => {
    over = true;
  });
  while (true) {
    stopping.throwIfAborted();
    try {
      const response = await fetch(`${url}/v1/health`, { signal: AbortSignal.timeout(20_000) });
      if (response.ok) return;
      last = `${response.status} ${await response.text()}`;
    } catch (error) {
      last = error instanceof Error ? error.message : String(error);
    }
    if (over || performance.now() > deadline) {
      const tail = lastLines(readFileSync(worker.log, 'utf8'));
      throw new Error(`The Worker does not serve ${url} (${last}). Its log ends:\n${tail}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
