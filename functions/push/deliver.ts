import { Fatal, RetryIn } from '../../client/errors.ts';
import type { Claimed } from '../../client/types.ts';
import { type ErrorWithDetails, errorToJson } from '../../client/worker/outcome.ts';
import type { Bindings } from '../env.ts';
import { type PushResult, retryAfter, toResult } from './answer.ts';
import { refusalReason } from './guard.ts';
import { headersOf } from './headers.ts';
import { NotPublic } from './node.ts';
import type { Post, PostInit } from './post.ts';
import { type Secrets, signatureHeaders } from './secret.ts';

const MAX_REDIRECTS = 3;
/** Maximum delay that an endpoint may ask for: a day. */
const MAX_DELAY_SECONDS = 86_400;
/** An error contains this many characters of an answer. */
const MAX_BODY = 2_000;

export type Delivery = {
  env: Bindings;
  post: Post;
  secrets: Secrets;
  /** Aborts at the time limit, or when the worker stops. */
  signal: AbortSignal;
};

/** How a task is sent, and what an answer says. */
export type Form = {
  request(url: string): Promise<Omit<PostInit, 'signal'>>;
  read(response: Response): Promise<PushResult>;
  /** The failure for an answer that is not 2xx. */
  failure(url: string, response: Response, answer: PushResult): Error;
};

type Answer = { name: string; status?: number; body?: unknown };

/** An error with the endpoint's answer instead of a stack. */
export function withDetails<E extends Error>(error: E, { name, ...more }: Answer): E {
  const detailed: ErrorWithDetails = Object.assign(error, { name, details: more });
  return detailed as E;
}

const fatal = (message: string, answerDetails: Answer) =>
  withDetails(new Fatal(message), answerDetails);
// doctor_of_push() recognizes this error by `push refused`.
const notAllowed = (reason: string, target: string) =>
  fatal(`push refused: ${reason}: ${target}`, { name: 'NotAllowed' });

// The URL without parts that may be secret: user, query string, fragment.
export const redactedUrl = (url: string) =>
  url
    .replace(/[?#].*$/s, '')
    .replace(/^([a-z+.-]+:\/\/)[^/]*@/i, '$1')
    .slice(0, 300);

export function truncateBody(body: unknown): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return text.length <= MAX_BODY ? body : text.slice(0, MAX_BODY).toWellFormed();
}

// 401: the endpoint has another secret, which an operator corrects.
const isTransient = (status: number) => status >= 500 || [401, 408, 425, 429].includes(status);

const isNonRetryable = ({ headers }: Response) =>
  (headers.get('nonretryable-error') ?? 'false').toLowerCase() !== 'false';

/** The failure for an answer that is not 2xx. */
function failureOf(url: string, response: Response, { status, body }: PushResult): Error {
  const message = `${status} from ${redactedUrl(url)}`;
  const answerDetails = (name: string) => ({ name, status, body: truncateBody(body) });
  if (status === 410) return fatal(message, answerDetails('Gone'));
  if (status === 489 || isNonRetryable(response))
    return fatal(message, answerDetails('NonRetryable'));
  if (status >= 300 && status < 400) {
    const reason = 'only redirects with 307 or 308 are followed';
    return withDetails(new Error(`${message}: ${reason}`), answerDetails('Redirected'));
  }
  if (!isTransient(status)) return fatal(message, answerDetails('Refused'));
  const seconds = retryAfter(response);
  const error =
    seconds === null
      ? new Error(message)
      : new RetryIn(Math.min(seconds, MAX_DELAY_SECONDS), message);
  return withDetails(error, answerDetails(status === 429 ? 'TooManyRequests' : 'Unavailable'));
}

/** Throws a Fatal for a forbidden URL, because retries would fail the same way. */
function check(url: string, from: string | null, env: Bindings): void {
  const reason =
    refusalReason(url, env) ??
    (from?.startsWith('https:') && !url.startsWith('https:') ? 'it is no longer https' : null);
  const target =
    from === null ? redactedUrl(url) : `${redactedUrl(url)}, redirected from ${redactedUrl(from)}`;
  if (reason) throw notAllowed(reason, target);
}

function unreachable(url: string, error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return signal.reason;
  const reason =
    (error as { cause?: unknown }).cause instanceof NotPublic ? (error as Error).cause : error;
  const { message } = errorToJson(reason);
  if (reason instanceof NotPublic) {
    return notAllowed(message, redactedUrl(url));
  }
  return withDetails(new Error(`no answer from ${redactedUrl(url)}: ${message}`), {
    name: 'NoAnswer',
  });
}

/** Reads an answer. If its status is a failure, a broken body is ignored. */
function readAnswer(response: Response, form: Form, signal: AbortSignal): Promise<PushResult> {
  return form.read(response).catch((error) => {
    if (response.ok || signal.aborted) throw error;
    return { status: response.status, body: null };
  });
}

/** The target of a redirect that keeps method and body; null otherwise. */
function redirectTarget(url: string, { status, headers }: Response): string | null {
  const to = headers.get('location');
  if ((status !== 307 && status !== 308) || !to || !URL.canParse(to, url)) return null;
  return new URL(to, url).href;
}

/** Tock's own form: the payload as JSON, signed with the secrets of the queue. */
function ownForm(task: Claimed, secrets: Secrets): Form {
  const body = JSON.stringify(task.payload ?? null);
  return {
    request: async () => ({
      headers: { ...headersOf(task), ...signatureHeaders(secrets, task.id, body) },
      body,
    }),
    read: toResult,
    failure: failureOf,
  };
}

/** Sends a task to a URL. Returns the answer as the task's result; throws its failure. */
export async function deliver(
  first: string,
  task: Claimed,
  delivery: Delivery,
  form: Form = ownForm(task, delivery.secrets),
): Promise<PushResult> {
  const { env, post, signal } = delivery;
  let from: string | null = null;
  let url = first;
  for (let redirects = 0; ; redirects++) {
    check(url, from, env);
    try {
      const response = await post(url, { ...(await form.request(url)), signal });
      const to = redirects < MAX_REDIRECTS ? redirectTarget(url, response) : null;
      if (to === null) {
        const answer = await readAnswer(response, form, signal);
        if (response.ok) return answer;
        throw form.failure(url, response, answer);
      }
      void response.body?.cancel().catch(() => {});
      [from, url] = [url, to];
    } catch (error) {
      if ((error as ErrorWithDetails).details) throw error;
      throw unreachable(url, error, signal);
    }
  }
}
