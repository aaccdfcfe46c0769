import type { Claimed } from '../../client/types.ts';

/** A task cannot set these headers of the request, the connection or the client. */
const reserved = new Set([
  'accept-encoding',
  'authorization',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'cookie',
  'date',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'origin',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
]);
const reservedPrefixes = /^(webhook|tock|proxy|sec|cf|x-forwarded|x-real)-/;

/** A task's permitted headers, and those that describe it. */
export function headersOf({ headers, queue, run_id, attempt, max_attempts }: Claimed) {
  const permitted = Object.entries(headers ?? {}).filter(
    ([name]) => !reserved.has(name) && !reservedPrefixes.test(name),
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
