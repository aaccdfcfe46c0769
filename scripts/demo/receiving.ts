import { join } from 'node:path';
import { type Child, startChild } from '../child.ts';

/** A line of receiver.ts. */
export type Said = { listening?: string; received?: string; refused?: string };

export type Receiver = { child: Child; listening: Promise<void>; ended: Promise<void> };

/** Starts receiver.ts as a process of its own; `hear` gets what it says, before it can have answered. */
export function receiver(
  port: number,
  root: string,
  secret: string,
  hear: (said: Said) => void,
): Receiver {
  const file = join(import.meta.dirname, 'receiver.ts');
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  const child = startChild<Said>([file, String(port), root], { SECRET: secret }, (said) => {
    if (said.listening) resolve();
    hear(said);
  });
  const { ended } = child;
  void ended.then(() => reject(new Error('The receiver ended before it listened: see above.')));
  listening.catch(() => {});
  return { child, listening, ended };
}
