import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { secrets, writeSecret } from './files.ts';
import { checkout, home } from './paths.ts';
import { identify, signal, waitUntilEnded } from './processes.ts';
import { ended, lastLines } from './run.ts';

export type Worker = { pid: number; log: string; ended: Promise<void>; stop(): Promise<void> };

const quiet = {
  WRANGLER_SEND_METRICS: 'false',
  WRANGLER_SEND_ERROR_REPORTS: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  NO_COLOR: '1',
  // The caller has built the dashboard.
  TOCK_BUILT: '1',
};

/** A Worker other than functions/index.ts, with its own files by name. */
export type WorkerOptions = { name?: string; entry?: string; vars?: Record<string, string> };

/** Starts the Worker in workerd. It answers when healthy() resolves. */
export function startWorker(
  port: number,
  databaseUrl: string,
  { name = 'worker', entry, vars: extraVars = {} }: WorkerOptions = {},
): Worker {
  const wrangler = join(checkout, 'node_modules', '.bin', 'wrangler');
  // The secrets are in a file, because every user of the machine could read an argument.
  const ownVars = { TOCK_PUSH_SECRET: secrets().push, TOCK_PUSH_PRIVATE: 'allow' };
  const all = Object.entries({ DATABASE_URL: databaseUrl, ...ownVars, ...extraVars });
  const vars = writeSecret(`${name}.env`, all.map(([key, text]) => `${key}='${text}'\n`).join(''));
  const local = join(checkout, 'wrangler.local.toml');
  const argv = [process.execPath, wrangler, 'dev', ...(entry ? [entry] : ['--config', local])];
  argv.push('--local', '--ip', '127.0.0.1');
  argv.push('--port', String(port), '--inspector-port', '0', '--env-file', vars);
  argv.push('--persist-to', join(home(), name), '--log-level', 'warn');
  argv.push('--show-interactive-dev-session=false');
  if (process.platform === 'linux') argv.unshift('setpriv', '--pdeathsig', 'TERM', '--');
  const [program = '', ...args] = argv;
  const log = join(home(), `${name}.log`);
  const logFile = openSync(log, 'w', 0o600);
  const child = spawn(program, args, {
    cwd: checkout,
    env: { ...process.env, ...quiet, XDG_CONFIG_HOME: join(home(), name) },
    detached: true,
    stdio: ['ignore', logFile, logFile],
  });
  closeSync(logFile);
  const pid = child.pid ?? 0;
  const self = identify(pid);
  const hasEnded = ended(child);
  return {
    pid,
    log,
    ended: hasEnded,
    async stop() {
      signal(pid, 'SIGTERM');
      await waitUntilEnded([self], 5);
      // workerd is in the same process group, so it is stopped too.
      const deadline = performance.now() + 2000;
      while (signal(-pid, 'SIGKILL') && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      await hasEnded;
    },
  };
}

export async function healthy(
  url: string,
  worker: Worker,
  stopping: AbortSignal,
  seconds = 180,
): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
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
