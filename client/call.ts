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

/** What a call waits for, and what makes its answer not worth another try. */
export type Patience = { wait_seconds?: number | undefined; signal?: AbortSignal | undefined };

/** What came of one try; `again_ms`: not before that. */
type Tried = { answer: unknown } | { error: TockError; passing: boolean; again_ms: number };

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 10_000;

/** Doubled each time, and at random half of it or more: who failed together must not come back together. */
const backoff = (tries: number) =>
  Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tries - 1)) * (0.5 + 0.5 * Math.random());

/** Retry-After: seconds, or a date. */
function againMs(header: string | null): number {
  if (!header) return 0;
  const seconds = Number(header);
  return Math.max(0, Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000) || 0;
}

// Not 501 and 507: the same call would be refused again.
const isPassing = (status: number) =>
  status === 429 || status === 500 || (status >= 502 && status <= 504);

function problemOf(text: string): Problem {
  try {
    return (JSON.parse(text) ?? {}) as Problem;
  } catch {
    return {};
  }
}

function refused(path: string, response: Response, text: string): Tried {
  const { status, headers } = response;
  const lost = status === 409 && path.startsWith('/v1/leases/');
  const error = new (lost ? LeaseLost : TockError)(status, problemOf(text));
  return { error, passing: isPassing(status), again_ms: againMs(headers.get('retry-after')) };
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
  parse = JSON.parse,
}: CallOptions): Call {
  const origin = new URL(url).href.replace(/\/+$/, '');
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

  async function attempt(path: string, init: RequestInit, ms: number): Promise<Tried> {
    try {
      const signal = AbortSignal.timeout(Math.max(1, Math.ceil(ms)));
      const response = await fetch(`${origin}${path}`, { ...init, headers, signal });
      const text = await response.text();
      return response.ok ? { answer: parse(text) } : refused(path, response, text);
    } catch (cause) {
      const { message, cause: inner } = cause as Error & { cause?: { code?: string } };
      const detail = `${origin} does not answer: ${inner?.code ?? message}`;
      return { error: new TockError(0, { detail }, { cause }), passing: true, again_ms: 0 };
    }
  }

  return async <T>(
    method: Method,
    path: string,
    body?: object | string,
    patience: Patience = {},
  ) => {
    const { wait_seconds = 0, signal } = patience;
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    const init = { method, ...(text !== undefined && { body: text }) };
    const end = performance.now() + (deadline_seconds + wait_seconds) * 1000;
    for (let tries = 1; ; tries++) {
      const left = end - performance.now();
      const tried = await attempt(
        path,
        init,
        Math.min(left, (timeout_seconds + wait_seconds) * 1000),
      );
      if ('answer' in tried) return tried.answer as T;
      const ms = Math.max(tried.again_ms, backoff(tries));
      if (!tried.passing || tries > retries || performance.now() + ms >= end) throw tried.error;
      await pause(ms, signal);
      if (signal?.aborted) throw tried.error;
    }
  };
}
