import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export type Child = {
  pid: number;
  /** Resolves when the process has ended and all its output was read. */
  ended: Promise<void>;
  /** Returns false if the process had already ended. */
  kill(signal: NodeJS.Signals): boolean;
  /** Writes a line to its standard input. */
  writeLine(line: string): void;
  /** Closes its standard input, which tells the child to end. */
  close(): void;
};

/** Starts a TypeScript file as a child process that reports its steps as lines of JSON. */
export function startChild<Word>(
  argv: string[],
  env: Record<string, string>,
  onMessage: (word: Word) => void,
): Child {
  const child: ChildProcess = spawn(process.execPath, argv, {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin?.on('error', () => {});
  if (child.stdout) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      // The last line of a killed process may be incomplete.
      if (/[\]}]$/.test(line)) onMessage(JSON.parse(line) as Word);
    });
  }
  return {
    pid: child.pid ?? 0,
    ended: new Promise<void>((resolve) => child.on('close', () => resolve())),
    kill: (signal) => child.kill(signal),
    writeLine: (line) => void child.stdin?.write(`${line}\n`),
    close: () => void child.stdin?.end(),
  };
}
