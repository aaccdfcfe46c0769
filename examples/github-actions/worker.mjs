// Requests linked pages until the queue is empty or the time is up. The job fails if a task died, not if a task will
// be retried.
import { createTock, Fatal, RetryIn, WorkerStopped } from 'tock/client';
import { stopSignal } from 'tock/client/node';

const { TOCK_URL = '', TOCK_KEY = '', TOCK_FOR_SECONDS = '420' } = process.env;
const tock = createTock({ url: TOCK_URL, key: TOCK_KEY });

async function ask({ payload }, { signal }) {
  const response = await fetch(payload.url, { method: 'HEAD', signal });
  if (response.status === 429) throw new RetryIn(60, `${payload.url} is busy`);
  if (response.status >= 500) throw new Error(`${payload.url} answers ${response.status}`);
  if (response.status >= 400) throw new Fatal(`${payload.url} answers ${response.status}`);
  return { status: response.status };
}

const died = (error, task) =>
  error instanceof Fatal ||
  (task.attempt >= task.max_attempts && !(error instanceof WorkerStopped));

const worked = await tock.work('links', ask, {
  worker: `github-${process.env.GITHUB_RUN_ID}`,
  concurrency: 10,
  until: 'empty',
  for_seconds: Number(TOCK_FOR_SECONDS),
  signal: stopSignal(),
  // GitHub kills a cancelled job 7.5 seconds after it has sent the interrupt.
  stop_seconds: 2,
  on_error(error, task) {
    console.error(`task ${task?.id ?? '-'}, attempt ${task?.attempt ?? '-'}:`, error);
    if (task && died(error, task)) process.exitCode = 1;
  },
});
console.log(worked);
