import { type ChildProcess, spawn } from 'node:child_process';

export type RunOptions = {
  uid?: number;
  gid?: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Stops the command (SIGINT by default) when aborted. */
  signal?: AbortSignal;
  stopWith?: NodeJS.Signals;
  onLine?: (line: string) => void;
};

export type Outcome = { code: number; out: string };

/** Runs a command to its end and returns its exit code and whatever it printed. */
export function attempt(argv: string[], options: RunOptions = {}): Promise<Outcome> {
  const [program = '', ...args] = argv;
  const { signal, stopWith = 'SIGINT', onLine, ...rest } = options;
  return new Promise((resolve, reject) => {
    let out = '';
    // Its own session: a terminal's Ctrl-C must not stop it halfway behind our back.
    const child = spawn(program, args, {
      ...rest,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const stop = () => void child.kill(stopWith);
    signal?.addEventListener('abort', stop, { once: true });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        out += text;
        if (onLine) for (const line of text.split('\n')) if (line.trim()) onLine(line);
      });
    }
    child.on('error', (error) => {
      signal?.removeEventListener('abort', stop);
      reject(error);
    });
    child.on('close', (code) => {
      signal?.removeEventListener('abort', stop);
      resolve({ code: code ?? 1, out });
    });
    if (signal?.aborted) stop();
  });
}

/** Like attempt, but anything other than exit code 0 is an error that carries the output's end. */
export async function run(argv: string[], options: RunOptions = {}): Promise<string> {
  const { code, out } = await attempt(argv, options);
  options.signal?.throwIfAborted();
  if (code === 0) return out;
  throw new Error(`${argv.join(' ')} ended with code ${code}:\n${lastLines(out)}`);
}

export function lastLines(text: string, count = 12): string {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}

/** Resolves when the child is gone, whichever way it went. */
export function ended(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}
