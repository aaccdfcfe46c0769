// A Lambda function for a schedule of EventBridge: runs tasks of the queue `pages` within its time. The process is
// frozen between invocations, so each invocation ends with no lease and no timer left.
import { createHash } from 'node:crypto';
import { createTock, Fatal } from 'tock/client';

const { TOCK_URL = '', TOCK_KEY = '', CALL_SECONDS = '3' } = process.env;
// Maximum duration of a call with its retries.
const call_seconds = Number(CALL_SECONDS);
// How long running handlers may continue when the time is up.
const stop_seconds = 2;
// A stop takes stop_seconds, then a second until the release of the tasks. A claim sent before may add call_seconds.
const reserve_seconds = stop_seconds + 1 + call_seconds + 1;

const tock = createTock({
  url: TOCK_URL,
  key: TOCK_KEY,
  timeout_seconds: call_seconds,
  deadline_seconds: call_seconds,
});

async function digest({ payload }, { signal }) {
  const response = await fetch(payload.url, { signal });
  if (response.status === 404) throw new Fatal(`${payload.url} was not found`);
  if (!response.ok) throw new Error(`${payload.url} answers ${response.status}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  return { bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

export const handler = async (_event, context) => {
  const for_seconds = context.getRemainingTimeInMillis() / 1000 - reserve_seconds;
  if (for_seconds <= 0) throw new Error(`Set a timeout of more than ${reserve_seconds} s.`);
  return tock.work('pages', digest, {
    worker: context.awsRequestId,
    concurrency: 4,
    until: 'empty',
    for_seconds,
    stop_seconds,
    on_error: (error, task) => console.error(`task ${task?.id ?? '-'}:`, error),
  });
};
