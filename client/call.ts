import { LeaseLost, type Problem, TockError } from './errors.ts';
import { pause } from './pause.ts';

export type CallOptions = {
  /** The base URL of the Tock server, like https://tock.example.workers.dev */
  url: string;
  key: string;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Timeout of one attempt, in addition to the call's wait_seconds. */
  timeout_seconds?: number;
  /** Maximum number of retries of a call. */
  retries?: number;
  /** Deadline of a call over all its attempts, in addition to its wait_seconds. */
  deadline_seconds?: number;
  /** Returns additional headers of a call, such as traceparent of the active span. It runs once for each call. */
  headers?: () => Record<string, string>;
  /** JSON.parse, or a parser that keeps numbers beyond a double. */
  parse?: (json: string) => unknown;
};

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** `body` is an object, or JSON text that is sent unchanged. A refused call throws a TockError. */
export type Call = <T>(
  method: Method,
  path: string,
  body?: object | string,
  wait?: WaitOptions,
) => Promise<T>;

/** How long the server may wait, a signal that stops retries, and the request id of a call whose body has none. */
export type WaitOptions = {
  wait_seconds?: number | undefined;
  signal?: AbortSignal | undefined;
  request_id?: string | undefined;
  /** True if no call had the request id before; the server then need not look for the answer of an earlier one. */
  hasNewRequestId?: boolean | undefined;
};

/** The result of one attempt. `retry_after_ms` is the minimum pause before the next one. */
type Attempt =
  | { answer: unknown }
  | { error: TockError; retryable: boolean; retry_after_ms: number };

const noAnswer = (detail: string, cause?: unknown): Attempt => ({
  error: new TockError(0, { detail }, { cause }),
  retryable: true,
  retry_after_ms: 0,
});

const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 10_000;
// AbortSignal.timeout() in Node accepts 32-bit integers only.
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** The pause doubles with each attempt. Half of it is random, so that callers don't retry all at the same time. */
const backoff = (attempts: number) =>
  Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempts - 1)) * (0.5 + 0.5 * Math.random());

/** Adds a random delay, because the server may send the same Retry-After to many callers. */
const withJitter = (ms: number) => ms && ms + FIRST_PAUSE_MS * Math.random();

/** Parses Retry-After: seconds, or a date. */
function retryAfterMs(header: string | null): number {
  if (!header) return 0;
  const seconds = Number(header);
  return Math.max(0, Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000) || 0;
}

// After these statuses a retry would be refused again.
const permanentStatuses = [501, 505, 507, 511];
const isRetryable = (status: number) =>
  status === 429 || (status >= 500 && !permanentStatuses.includes(status));

/** Parses a problem. Drops fields that are not text, because a proxy may answer with any JSON. */
function parseProblem(text: string): Problem {
  try {
    const fields = Object.entries(JSON.parse(text) ?? {});
    const isInvalid = ([name, value]: [string, unknown]) =>
      ['title', 'detail', 'field', 'hint'].includes(name) && typeof value !== 'string';
    return Object.fromEntries(fields.filter((field) => !isInvalid(field))) as Problem;
  } catch {
    return {};
  }
}

function refusal(path: string, response: Response, text: string): Attempt {
  const { status, headers } = response;
  const lost = status === 409 && path.startsWith('/v1/leases/');
  const retry_after_ms = retryAfterMs(headers.get('retry-after'));
  const error = new (lost ? LeaseLost : TockError)(status, parseProblem(text));
  error.retry_after_seconds = retry_after_ms / 1000;
  return { error, retryable: isRetryable(status), retry_after_ms };
}

/** Refuses an invalid URL or key here. fetch() would refuse it on each call, with the key in the message. */
function checkedOrigin(url: string, key: string): string {
  const { protocol, origin, pathname } = new URL(url);
  if (!/^https?:$/.test(protocol)) {
    throw new TypeError(
      `url: ${protocol} is not supported; use a URL that begins with https:// or http://`,
    );
  }
  if (!/^[\x20-\x7e]*$/.test(key.trim()))
    throw new TypeError('key: the API key has characters outside printable ASCII; copy it again');
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

/**
 * Sends calls. A call without an answer is retried with backoff up to a deadline. Each call carries its request id or
 * its lease, so a retry after a lost answer repeats no effect. Permanent refusals are not retried.
 */
export function caller({
  url,
  key,
  fetch = (to, init) => globalThis.fetch(to, init),
  timeout_seconds = 30,
  retries = 8,
  deadline_seconds = 60,
  headers: extraHeaders = () => ({}),
  parse = JSON.parse,
}: CallOptions): Call {
  const origin = checkedOrigin(url, key);
  const headers = { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' };

  function parseAnswer(text: string): Attempt {
    try {
      const answer = parse(text);
      if (typeof answer === 'object' && answer !== null) return { answer };
    } catch {}
    return noAnswer(`${origin} does not answer like a Tock server: ${text.slice(0, 100)}`);
  }

  async function attempt(path: string, init: RequestInit, ms: number): Promise<Attempt> {
    try {
      const signal = AbortSignal.timeout(Math.ceil(Math.min(MAX_TIMEOUT_MS, Math.max(1, ms))));
      const response = await fetch(`${origin}${path}`, { ...init, signal });
      const text = await response.text();
      return response.ok ? parseAnswer(text) : refusal(path, response, text);
    } catch (cause) {
      const { message, cause: inner } = Object(cause) as Error & { cause?: { code?: string } };
      return noAnswer(`${origin} does not answer: ${inner?.code ?? message}`, cause);
    }
  }

  return async <T>(
    method: Method,
    path: string,
    body?: object | string,
    wait: WaitOptions = {},
  ) => {
    const { wait_seconds = 0, signal, request_id, hasNewRequestId } = wait;
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    const init = {
      method,
      headers: {
        ...extraHeaders(),
        ...headers,
        ...(request_id && { 'idempotency-key': request_id }),
      },
      ...(text !== undefined && { body: text }),
    };
    const deadline = performance.now() + (deadline_seconds + wait_seconds) * 1000;
    for (let attempts = 1; ; attempts++) {
      const left_ms = deadline - performance.now();
      const isFirstTry = attempts === 1 && hasNewRequestId;
      const attempted = await attempt(
        path,
        isFirstTry ? { ...init, headers: { ...init.headers, 'tock-first-try': 'true' } } : init,
        Math.min(left_ms, (timeout_seconds + wait_seconds) * 1000),
      );
      if ('answer' in attempted) return attempted.answer as T;
      const ms = Math.max(withJitter(attempted.retry_after_ms), backoff(attempts));
      if (!attempted.retryable || attempts > retries || performance.now() + ms >= deadline)
        throw attempted.error;
      await pause(ms, signal);
      if (signal?.aborted) throw attempted.error;
    }
  };
}
