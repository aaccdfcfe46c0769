import { join } from 'node:path';
import { type Child, startChild } from '../child.ts';

/** A line of receiver.ts. */
export type ReceiverMessage = { listening?: string; received?: string; refused?: string };

export type Receiver = { child: Child; listening: Promise<void>; ended: Promise<void> };

/** Starts receiver.ts as a child process. `onMessage` gets its reports; each comes before the receiver's answer. */
export function receiver(
  port: number,
  root: string,
  secret: string,
  onMessage: (message: ReceiverMessage) => void,
): Receiver {
  const file = join(import.meta.dirname, 'receiver.ts');
  const { promise: listening, resolve, reject } = Promise.withResolvers<void>();
  const child = startChild<ReceiverMessage>(
    [file, String(port), root],
    { SECRET: secret },
    (message) => {
      if (message.listening) resolve();
      onMessage(message);
    },
  );
  const { ended } = child;
  void ended.then(() => reject(new Error('The receiver ended before it listened: see above.')));
  listening.catch(() => {});
  return { child, listening, ended };
}
