import { spawn } from 'node:child_process';
import { checkout } from '../stack/paths.ts';
import { ended } from '../stack/run.ts';

let running: ReturnType<typeof spawn> | null = null;
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => running?.kill(name));
}

export type Ran = { succeeded: boolean; seconds: number };

/** Runs a check's command and shows its output. If a signal ends the command, it also ends this process. */
export async function command(
  [program = '', ...args]: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Ran> {
  const started = performance.now();
  const options = { cwd: checkout, stdio: 'inherit', env: { ...process.env, ...env } } as const;
  const child = spawn(program, args, options);
  running = child;
  await ended(child);
  if (child.signalCode) process.exit(130);
  const seconds = Math.round((performance.now() - started) / 1000);
  return { succeeded: child.exitCode === 0, seconds };
}
