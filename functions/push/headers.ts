import type { Claimed } from '../../client/types.ts';

/** Headers of the connection, and headers by which a receiver knows who sends. No task can set them. */
const reserved = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);
const reservedPrefixes = /^(webhook|tock|proxy|sec|cf|x-forwarded|x-real)-/;

/** Whether a header, in lower case, is one that no task can set. */
export const isReserved = (name: string) => reserved.has(name) || reservedPrefixes.test(name);

/** Headers of the request or the client, which no task can set in a push of its payload. */
const ownHeaders = new Set([
  'authorization',
  'content-encoding',
  'content-type',
  'cookie',
  'date',
  'origin',
  'user-agent',
]);

/** A task's permitted headers, and those that describe it. */
export function headersOf({ headers, queue, run_id, attempt, max_attempts }: Claimed) {
  const permitted = Object.entries(headers ?? {}).filter(
    ([name]) => !isReserved(name) && !ownHeaders.has(name),
  );
  return {
    ...Object.fromEntries(permitted),
    'content-type': 'application/json',
    'user-agent': 'Tock',
    'tock-queue': queue,
    'tock-run': run_id,
    'tock-attempt': String(attempt),
    'tock-max-attempts': String(max_attempts),
  };
}
