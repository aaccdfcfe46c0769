import { Fatal, RetryIn } from '../../client/errors.ts';
import type { Claimed } from '../../client/types.ts';
import { type ErrorWithDetails, errorToJson } from '../../client/worker/outcome.ts';
import type { Bindings } from '../env.ts';
import { type Answered, answered, retryAfter } from './answer.ts';
import { objection } from './guard.ts';
import { headersOf } from './headers.ts';
import { NotPublic } from './node.ts';
import type { Post } from './post.ts';
import { type Secrets, signed } from './secret.ts';

const MOST_REDIRECTS = 3;
/** No endpoint puts a task off for longer than a day. */
const LONGEST_WAIT = 86_400;
/** What of an answer stands in an error. */
const MOST_SAID = 2_000;

export type Delivery = {
  env: Bindings;
  post: Post;
  secrets: Secrets;
  /** Aborts when the push is to end: its time is up, or its worker stops. */
  signal: AbortSignal;
};

type Said = { name: string; status?: number; body?: unknown };

/** An error with what the endpoint said, and no stack. */
function failing<E extends Error>(error: E, { name, ...more }: Said): E {
  const telling: ErrorWithDetails = Object.assign(error, { name, details: more });
  return telling as E;
}

const fatal = (message: string, said: Said) => failing(new Fatal(message), said);
// doctor_of_push() knows it by its beginning.
const notAllowed = (why: string, place: string) =>
  fatal(`push refused: ${why}: ${place}`, { name: 'NotAllowed' });

// Where it was sent to, without what may be a secret: its user, its query string, its fragment.
const placeOf = (url: string) =>
  url
    .replace(/[?#].*$/s, '')
    .replace(/^([a-z+.-]+:\/\/)[^/]*@/i, '$1')
    .slice(0, 300);

function shortened(body: unknown): unknown {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return text.length <= MOST_SAID ? body : text.slice(0, MOST_SAID).toWellFormed();
}

const passing = (status: number) => status >= 500 || [408, 425, 429].includes(status);

const neverAgain = ({ headers }: Response) =>
  (headers.get('nonretryable-error') ?? 'false').toLowerCase() !== 'false';

/** What an answer that is not 2xx comes to. */
function refused(url: string, response: Response, { status, body }: Answered): Error {
  const message = `${status} from ${placeOf(url)}`;
  const said = (name: string) => ({ name, status, body: shortened(body) });
  if (status === 410) return fatal(message, said('Gone'));
  if (status === 489 || neverAgain(response)) return fatal(message, said('NonRetryable'));
  if (status >= 300 && status < 400) {
    const why = 'redirects that are not 307 or 308 are not followed';
    return failing(new Error(`${message}: ${why}`), said('Redirected'));
  }
  if (!passing(status)) return fatal(message, said('Refused'));
  const seconds = retryAfter(response);
  const error =
    seconds === null ? new Error(message) : new RetryIn(Math.min(seconds, LONGEST_WAIT), message);
  return failing(error, said(status === 429 ? 'TooManyRequests' : 'Unavailable'));
}

/** Fatal where the guard objects: another attempt would meet the same. */
function check(url: string, from: string | null, env: Bindings): void {
  const why =
    objection(url, env) ??
    (from?.startsWith('https:') && !url.startsWith('https:') ? 'it is not https any more' : null);
  const place = from === null ? placeOf(url) : `${placeOf(url)}, redirected from ${placeOf(from)}`;
  if (why) throw notAllowed(why, place);
}

function unreached(url: string, error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return signal.reason;
  const why =
    (error as { cause?: unknown }).cause instanceof NotPublic ? (error as Error).cause : error;
  const { message } = errorToJson(why);
  if (why instanceof NotPublic) {
    return notAllowed(message, placeOf(url));
  }
  return failing(new Error(`no answer from ${placeOf(url)}: ${message}`), { name: 'NoAnswer' });
}

/** What an endpoint says. That it fails shows in the head: a body that breaks off takes nothing from it. */
function heard(response: Response, signal: AbortSignal): Promise<Answered> {
  return answered(response).catch((error) => {
    if (response.ok || signal.aborted) throw error;
    return { status: response.status, body: null };
  });
}

/** Where a redirect that keeps method and body leads; null where none does. */
function onward(url: string, { status, headers }: Response): string | null {
  const to = headers.get('location');
  if ((status !== 307 && status !== 308) || !to || !URL.canParse(to, url)) return null;
  return new URL(to, url).href;
}

/** Sends a task to a URL. Gives the answer as its result; throws what the failure is to be. */
export async function deliver(first: string, task: Claimed, delivery: Delivery): Promise<Answered> {
  const { env, post, secrets, signal } = delivery;
  const body = JSON.stringify(task.payload ?? null);
  let from: string | null = null;
  let url = first;
  for (let redirects = 0; ; redirects++) {
    check(url, from, env);
    try {
      const headers = { ...headersOf(task), ...signed(secrets, task.id, body) };
      const response = await post(url, { headers, body, signal });
      const to = redirects < MOST_REDIRECTS ? onward(url, response) : null;
      if (to === null) {
        const answer = await heard(response, signal);
        if (response.ok) return answer;
        throw refused(url, response, answer);
      }
      void response.body?.cancel().catch(() => {});
      [from, url] = [url, to];
    } catch (error) {
      if ((error as ErrorWithDetails).details) throw error;
      throw unreached(url, error, signal);
    }
  }
}
