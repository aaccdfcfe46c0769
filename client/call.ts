import { LeaseLost, type Problem, TockError } from './errors.ts';
import { pause } from './pause.ts';

export type CallOptions = {
  /** Where Tock is, like https://tock.example.workers.dev */
  url: string;
  key: string;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Of one try, beside what a call waits for. */
  timeout_seconds?: number;
  /** How often a call is repeated at most. */
  retries?: number;
  /** Of all tries of a call, beside what it waits for. */
  deadline_seconds?: number;
  /** What goes with each call beside its key, such as traceparent of the span that is active; asked once a call. */
  headers?: () => Record<string, string>;
  /** JSON.parse, or something that keeps numbers beyond a double. */
  parse?: (json: string) => unknown;
};

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** `body` is an object, or JSON text that goes as it is. Any refusal is a TockError. */
export type Call = <T>(
  method: Method,
  path: string,
  body?: object | string,
  patience?: Patience,
) => Promise<T>;

/** What a call waits for, what makes its answer not worth another try, and the id it has where its body has none. */
export type Patience = {
  wait_seconds?: number | undefined;
  signal?: AbortSignal | undefined;
  request_id?: string | undefined;
};

/** What came of one try; `again_ms`: not before that. */
type Tried = { answer: unknown } | { error: TockError; passing: boolean; again_ms: number };

const unanswered = (detail: string, cause?: unknown): Tried => ({
  error: new TockError(0, { detail }, { cause }),
  passing: true,
  again_ms: 0,
});

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;
// Of AbortSignal.timeout(): Node takes whole numbers of 32 bits alone.
const LONGEST_TRY_MS = 2 ** 31 - 1;

/** Doubled each time, and at random half of it or more: who failed together must not come back together. */
const backoff = (tries: number) =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1)) * (0.5 + 0.5 * Math.random());

/** Many are told the same second. */
const apart = (ms: number) => ms && ms + FIRST_PAUSE_MS * Math.random();

/** Retry-After: seconds, or a date. */
function againMs(header: string | null): number {
  if (!header) return 0;
  const seconds = Number(header);
  return Math.max(0, Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000) || 0;
}

// The same call would be refused again.
const forGood = [501, 505, 507, 511];
const isPassing = (status: number) =>
  status === 429 || (status >= 500 && !forGood.includes(status));

/** What stands between may answer anything: text where there is to be text. */
function problemOf(text: string): Problem {
  try {
    const said = Object.entries(JSON.parse(text) ?? {});
    const wrong = ([name, value]: [string, unknown]) =>
      ['title', 'detail', 'field', 'hint'].includes(name) && typeof value !== 'string';
    return Object.fromEntries(said.filter((one) => !wrong(one))) as Problem;
  } catch {
    return {};
  }
}

function refused(path: string, response: Response, text: string): Tried {
  const { status, headers } = response;
  const lost = status === 409 && path.startsWith('/v1/leases/');
  const again_ms = againMs(headers.get('retry-after'));
  const error = new (lost ? LeaseLost : TockError)(status, problemOf(text));
  error.retry_after_seconds = again_ms / 1000;
  return { error, passing: isPassing(status), again_ms };
}

/** Where calls go; what fetch() would refuse each time, and with the key in its message, is refused here. */
function placeOf(url: string, key: string): string {
  const { protocol, origin, pathname } = new URL(url);
  if (!/^https?:$/.test(protocol)) throw new TypeError('url: it begins with https:// or http://');
  if (!/^[\x20-\x7e]*$/.test(key.trim()))
    throw new TypeError('key: it has letters that no key has');
  return `${origin}${pathname}`.replace(/\/+$/, '');
}

/**
 * Sends calls, each repeated while it isn't answered, with backoff and up to a deadline: a call carries its
 * request id or its lease, so whatever a lost answer did is not done twice. What is refused for good is not repeated.
 */
export function caller({
  url,
  key,
  fetch = (to, init) => globalThis.fetch(to, init),
  timeout_seconds = 30,
  retries = 8,
  deadline_seconds = 60,
  headers: beside = () => ({}),
  parse = JSON.parse,
}: CallOptions): Call {
  const origin = placeOf(url, key);
  const headers = { authorization: `Bearer ${key.trim()}`, 'content-type': 'application/json' };

  function answered(text: string): Tried {
    try {
      const answer = parse(text);
      if (typeof answer === 'object' && answer !== null) return { answer };
    } catch {}
    return unanswered(`${origin} answers what is not Tock's: ${text.slice(0, 100)}`);
  }

  async function attempt(path: string, init: RequestInit, ms: number): Promise<Tried> {
    try {
      const signal = AbortSignal.timeout(Math.ceil(Math.min(LONGEST_TRY_MS, Math.max(1, ms))));
      const response = await fetch(`${origin}${path}`, { ...init, signal });
      const text = await response.text();
      return response.ok ? answered(text) : refused(path, response, text);
    } catch (cause) {
      const { message, cause: inner } = Object(cause) as Error & { cause?: { code?: string } };
      return unanswered(`${origin} does not answer: ${inner?.code ?? message}`, cause);
    }
  }

  return async <T>(
    method: Method,
    path: string,
    body?: object | string,
    patience: Patience = {},
  ) => {
    const { wait_seconds = 0, signal, request_id } = patience;
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    const init = {
      method,
      headers: { ...beside(), ...headers, ...(request_id && { 'idempotency-key': request_id }) },
      ...(text !== undefined && { body: text }),
    };
    const end = performance.now() + (deadline_seconds + wait_seconds) * 1000;
    for (let tries = 1; ; tries++) {
      const left = end - performance.now();
      const tried = await attempt(
        path,
        init,
        Math.min(left, (timeout_seconds + wait_seconds) * 1000),
      );
      if ('answer' in tried) return tried.answer as T;
      const ms = Math.max(apart(tried.again_ms), backoff(tries));
      if (!tried.passing || tries > retries || performance.now() + ms >= end) throw tried.error;
      await pause(ms, signal);
      if (signal?.aborted) throw tried.error;
    }
  };
}
