import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Child = {
  pid: number;
  /** Resolves when the process has ended and all it wrote was heard. */
  ended: Promise<void>;
  /** False where it had ended. */
  kill(signal: NodeJS.Signals): boolean;
  /** A line to its standard input. */
  tell(line: string): void;
  /** Closes its standard input: the child has nothing left to do. */
  close(): void;
};

/** Starts a TypeScript file as a process of its own, which says its steps as lines of JSON. */
export function startChild<Word>(
  argv: string[],
  env: Record<string, string>,
  hear: (word: Word) => void,
): Child {
  const child: ChildProcess = spawn(process.execPath, argv, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin?.on('error', () => {});
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      // The last line of a process that was killed may be cut.
      if (/[\]}]$/.test(line)) hear(JSON.parse(line) as Word);
    });
  }
  return {
    pid: child.pid ?? 0,
    ended: new Promise<void>((resolve) => child.on('close', () => resolve())),
    kill: (signal) => child.kill(signal),
    tell: (line) => void child.stdin?.write(`${line}\n`),
    close: () => void child.stdin?.end(),
  };
}
