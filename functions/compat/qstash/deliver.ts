import { Fatal, RetryIn } from '../../../client/errors.ts';
import { pause } from '../../../client/pause.ts';
import type { Claimed } from '../../../client/types.ts';
import type { ErrorWithDetails } from '../../../client/worker/outcome.ts';
import type { Query } from '../../database/types.ts';
import { type PushResult, retryAfter, toResult } from '../../push/answer.ts';
import { type Form, redactedUrl, truncateBody, withDetails } from '../../push/deliver.ts';
import { isReserved } from '../../push/headers.ts';
import {
  callbackIn,
  failedInvocation,
  isRecord,
  partToSend,
  type RunState,
  readRun,
} from '../workflow/deliver.ts';
import { type Answered, callbackTask, reportOf } from './callback.ts';
import { bytesOfBody, type Message } from './message.ts';
import { retryDelay } from './retry_delay.ts';
import { sign } from './sign.ts';

/** The longest wait for a retry. */
const MAX_DELAY_SECONDS = 86_400;

/** Sends one request and the redirects that follow; rejects at the time limit. */
export type Send = (form: Form) => Promise<PushResult>;

export type Sending = {
  /** The key that signs. */
  key: string;
  send: Send;
  /** Adds tasks to the queue of the message. A repeated call with the same request id adds nothing. */
  enqueue(tasks: object[], request_id: string): Promise<void>;
  query: Query;
  /** Aborts when the worker stops, or the message was cancelled. */
  signal: AbortSignal;
};

/** A statement that has failed is repeated once after this time. */
const READ_AGAIN_MS = 1000;

const NOT_SENT: PushResult = { status: 200, body: null };

/** Headers that a redirect must not carry to another origin. */
const secretHeaders = /^(authorization|cookie)$/;

const hasSameOrigin = (url: string, message: Message) =>
  new URL(url).origin === new URL(message.url).origin;

function headersOf(message: Message, task: Claimed, url: string): Record<string, string> {
  const isSameOrigin = hasSameOrigin(url, message);
  // A payload may come from Tock's own API, so the names are checked here.
  const own = Object.entries(message.headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => !isReserved(name) && (isSameOrigin || !secretHeaders.test(name)));
  return {
    'user-agent': 'Upstash-QStash',
    ...Object.fromEntries(own),
    'upstash-message-id': task.id,
    'upstash-retried': String(task.attempt - 1),
    ...(message.topic !== undefined && { 'upstash-topic-name': message.topic }),
    ...(message.schedule !== undefined && { 'upstash-schedule-id': message.schedule }),
  };
}

/** Any answer but 2xx is tried again, unless the endpoint forbids it. */
function failure(url: string, response: Response, { status, body }: PushResult): Error {
  const text = `${status} from ${redactedUrl(url)}`;
  const details = { status, body: truncateBody(body) };
  if (status === 489 && response.headers.get('upstash-nonretryable-error') === 'true')
    return withDetails(new Fatal(text), { name: 'NonRetryable', ...details });
  const seconds = retryAfter(response);
  const isUsable = seconds !== null && seconds <= MAX_DELAY_SECONDS;
  const error = isUsable ? new RetryIn(seconds, text) : new Error(text);
  return withDetails(error, { name: 'Refused', ...details });
}

/** A message goes out as it came, with its own method, headers and body. */
function formOf(
  message: Message,
  task: Claimed,
  key: string,
  heard: (answered: Answered) => void,
): Form {
  const bytes = bytesOfBody(message);
  const { method } = message;
  const body = method === 'GET' ? null : bytes;
  return {
    request: async (url) => ({
      method,
      headers: {
        ...headersOf(message, task, url),
        // One key signs for all endpoints: none may send a signed message to another by a redirect.
        ...(hasSameOrigin(url, message) && {
          'upstash-signature': await sign(key, url, body ?? new Uint8Array()),
        }),
      },
      body,
    }),
    async read(response) {
      // Without the content type the result is the text of the answer.
      const result = await toResult(new Response(response.body, { status: response.status }));
      heard({ ...result, headers: response.headers });
      return result;
    },
    failure,
  };
}

/** QStash's wait before the retry that follows an attempt. */
function delayOf({ retry_delay }: Message, attempt: number): number {
  const ms = retry_delay === undefined ? Number.NaN : retryDelay(retry_delay, attempt - 1);
  const seconds = Number.isNaN(ms) ? Math.exp(2.5 * attempt) : ms / 1000;
  return Math.min(MAX_DELAY_SECONDS, Math.max(0, seconds));
}

/** The error with QStash's delay; the last one is fatal, so that the message fails now whatever was lost before. */
function outcomeOf(error: Error, message: Message, { attempt }: Claimed, isLast: boolean): Error {
  if (error instanceof Fatal || (error instanceof RetryIn && !isLast)) return error;
  const next = isLast
    ? new Fatal(error.message)
    : new RetryIn(delayOf(message, attempt), error.message);
  const { details = {} } = error as ErrorWithDetails;
  return withDetails(next, { ...details, name: error.name });
}

/** The run of a message; null if it belongs to none. */
async function runFor(
  { workflow }: Message,
  task: Claimed,
  query: Query,
  signal: AbortSignal,
): Promise<RunState | null> {
  if (!workflow) return null;
  // A failure here is not the endpoint's. On the last attempt it would end the run without its failure function.
  const run = await readRun(query, workflow, task).catch(async () => {
    await pause(READ_AGAIN_MS, signal);
    return readRun(query, workflow, task);
  });
  if (!run) throw new Fatal('the first message of this workflow run is gone');
  return run;
}

/** Sends a message once, and adds its callbacks. Returns the answer; throws its failure. */
export async function sendMessage(
  message: Message,
  task: Claimed,
  { key, send, enqueue, query, signal }: Sending,
): Promise<PushResult> {
  if (isRecord(message)) return NOT_SENT;
  const run = await runFor(message, task, query, signal);
  let answered: Answered | null = null;
  let result: PushResult | null = null;
  let error: Error | null = null;
  try {
    const sent = run ? await partToSend(run, message, task, enqueue) : message;
    if (!sent) return NOT_SENT;
    const form = formOf(sent, task, key, (answer) => {
      answered = answer;
    });
    result = await send(form);
  } catch (thrown) {
    // The task is released, or was cancelled.
    if (signal.aborted) throw thrown;
    error = thrown as Error;
  }
  const isLast = error instanceof Fatal || task.attempt >= task.max_attempts;
  const callbacks = { callback: message.callback, failure: message.failure_callback };
  for (const [kind, callback] of Object.entries(callbacks)) {
    if (!callback || (kind === 'failure' && !(error && isLast))) continue;
    const isFailure = kind === 'failure';
    const report = await reportOf(message, task, answered, error, isFailure);
    // serve() waits for another answer as long as there may be a further try.
    const last = isLast ? { ...report, maxRetries: report.retried } : report;
    const added = run
      ? callbackIn(run, callback, task, last, isFailure)
      : callbackTask(callback, task, report);
    await enqueue([added], `qstash ${task.id} ${task.attempt} ${kind}`);
  }
  if (run && error && isLast) {
    // The run goes on with the answer.
    if (message.workflow?.kind === 'call') {
      const { status = 0, body = null } = (answered ?? {}) as Partial<Answered>;
      return { status, body };
    }
    const tasks = await failedInvocation(query, run, task, error.message);
    if (tasks.length > 0) await enqueue(tasks, `qstash ${task.id} invoker`);
  }
  if (error) throw outcomeOf(error, message, task, isLast);
  return result as PushResult;
}
