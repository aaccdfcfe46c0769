import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../../scripts/stack/paths.ts';
import { anyPort } from '../../scripts/stack/ports.ts';

/** Creates a `.tock` for a test, so that it does not touch a developer's running stack. */
export function temporaryHome(): string {
  return mkdtempSync(join(tmpdir(), 'tock-home-'));
}

/** All processes that a start began: they name the folder in their arguments, or work in it. */
export function processesOf(home: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const argv = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return argv.includes(home) || readlinkSync(`/proc/${pid}/cwd`).startsWith(home);
      } catch {
        return false;
      }
    })
    .map(Number);
}

export function removeHome(home: string): void {
  const elsewhere = join(home, 'data.path');
  try {
    rmSync(readFileSync(elsewhere, 'utf8').trim(), { recursive: true });
  } catch {
    // There is no data.path if the data is in the home itself.
  }
  rmSync(home, { recursive: true, force: true });
}

export type Started = {
  pid: number;
  output(): string;
  /** Waits until the output contains the text. Fails if the process ends before. */
  says(text: string): Promise<void>;
  exit: Promise<number | null>;
};

/** Runs the real `npm start` with its own home and ports, without npm. */
export async function start(home: string, env: NodeJS.ProcessEnv = {}): Promise<Started> {
  const [first, second, third] = [await anyPort(), await anyPort(), await anyPort()];
  const ports = {
    TOCK_POSTGRESQL_PORT: String(first),
    TOCK_PGBOUNCER_PORT: String(second),
    TOCK_WORKER_PORT: String(third),
  };
  const child = spawn(process.execPath, ['scripts/bootstrap.mjs', 'scripts/start.ts'], {
    cwd: checkout,
    env: { ...process.env, DATABASE_URL: '', TOCK_HOME: home, ...ports, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const listeners = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const listener of listeners) listener();
    });
  }
  const exit = new Promise<number | null>((resolve) => child.on('close', resolve));
  return {
    pid: child.pid ?? 0,
    output: () => output,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => output.includes(text) && resolve();
        listeners.add(look);
        void exit.then(() => reject(new Error(`it ended without saying "${text}":\n${output}`)));
        look();
      }),
    exit,
  };
}
