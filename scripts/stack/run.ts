import { type ChildProcess, spawn } from 'node:child_process';

export type RunOptions = {
  uid?: number;
  gid?: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Stops the command (by default with SIGINT) when aborted. */
  signal?: AbortSignal;
  stopWith?: NodeJS.Signals;
  onLine?: (line: string) => void;
};

export type Outcome = { code: number; output: string };

/** Runs a command to its end and returns its exit code and output. */
export function attempt(argv: string[], options: RunOptions = {}): Promise<Outcome> {
  const [program = '', ...args] = argv;
  const { signal, stopWith = 'SIGINT', onLine, ...spawnOptions } = options;
  return new Promise((resolve, reject) => {
    let output = '';
    // The command has a session of its own, because a terminal's Ctrl-C must not stop it halfway.
    const child = spawn(program, args, {
      ...spawnOptions,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const stop = () => void child.kill(stopWith);
    signal?.addEventListener('abort', stop, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        output += text;
        if (onLine) for (const line of text.split('\n')) if (line.trim()) onLine(line);
      });
    }
    child.on('error', (error) => {
      signal?.removeEventListener('abort', stop);
      reject(error);
    });
    child.on('close', (code) => {
      signal?.removeEventListener('abort', stop);
      resolve({ code: code ?? 1, output });
    });
    if (signal?.aborted) stop();
  });
}

/** Like attempt(), but throws for an exit code other than 0. The error has the end of the output. */
export async function run(argv: string[], options: RunOptions = {}): Promise<string> {
  const { code, output } = await attempt(argv, options);
  options.signal?.throwIfAborted();
  if (code === 0) return output;
  throw new Error(`${argv.join(' ')} ended with code ${code}:\n${lastLines(output)}`);
}

export function lastLines(text: string, count = 12): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

/** Resolves when the child has ended, for any reason. */
export function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}
