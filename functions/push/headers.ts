import type { Claimed } from '../../client/types.ts';

/** Of the request itself, of its way, or of who is asking: no task says these. */
const notATasks = new Set([
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
const prefixes = /^(webhook|tock|proxy|sec|cf|x-forwarded|x-real)-/;

/** A task's headers as far as they may go out, and those that say what it is. */
export function headersOf({ headers, queue, run_id, attempt, max_attempts }: Claimed) {
  const own = Object.entries(headers ?? {}).filter(
    ([name]) => !notATasks.has(name) && !prefixes.test(name),
  );
  return {
    ...Object.fromEntries(own),
    'content-type': 'application/json',
    'user-agent': 'Tock',
    'tock-queue': queue,
    'tock-run': run_id,
    'tock-attempt': String(attempt),
    'tock-max-attempts': String(max_attempts),
  };
}
