import { createTock } from 'tock/client';
import type { Queues } from './queues.ts';

const { TOCK_URL, TOCK_KEY } = process.env;
if (!TOCK_URL || !TOCK_KEY) {
  throw new Error('Set TOCK_URL and TOCK_KEY in .dev.vars. `npm run key` makes a key.');
}

/** The client, which knows the queues and their payloads. */
export const tock = createTock<Queues>({ url: TOCK_URL, key: TOCK_KEY });
