import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A line of receiver.ts. */
export type Said = { listening?: string; received?: string; refused?: string };

export type Receiver = { child: ChildProcess; listening: Promise<void>; ended: Promise<void> };

/** Starts receiver.ts as a process of its own; `hear` gets what it says, before it can have answered. */
export function receiver(
  port: number,
  root: string,
  secret: string,
  hear: (said: Said) => void,
): Receiver {
  const file = join(import.meta.dirname, 'receiver.ts');
  const child = spawn(process.execPath, [file, String(port), root], {
    env: { ...process.env, SECRET: secret },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  const listening = new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const said: Said = JSON.parse(line);
      if (said.listening) resolve();
      hear(said);
    });
    void ended.then(() => reject(new Error('The receiver ended before it listened: see above.')));
  });
  listening.catch(() => {});
  return { child, listening, ended };
}
