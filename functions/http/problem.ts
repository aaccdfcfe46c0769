import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isPoolFull, statusOf } from '../database/errors.ts';

export type FieldError = { field: string; detail: string };

/** The optional parts of a refusal; `hint` says what to do. */
type RefusalOptions = {
  field?: string | undefined;
  hint?: string | undefined;
  errors?: FieldError[] | undefined;
  headers?: Record<string, string>;
};

type Refusal = RefusalOptions & { status: ContentfulStatusCode; detail: string };

/** The titles of problems. docs/errors has a page for each. */
export const titles: Record<number, string> = {
  400: 'The request is malformed',
  401: 'A valid key is needed',
  403: 'The key does not allow this',
  404: 'The resource does not exist',
  405: 'The method is not allowed here',
  408: 'The request arrived too slowly',
  409: 'The current state does not allow this',
  413: 'The request is too large',
  414: 'The URL is too long',
  415: 'The body is not JSON',
  421: 'Another node has this',
  422: 'The request is invalid',
  429: 'The key has reached its request limit',
  500: 'Tock has failed internally',
  503: 'The service is unavailable',
  507: 'The answer is too large for this database driver',
};

/** The hint for a status if the refusal has none. */
const hints: Record<number, string> = {
  400: 'Send one JSON object in UTF-8; GET /openapi.json describes the route.',
  413: 'Split it into several calls.',
  422: 'GET /openapi.json describes the route.',
};

/** Creates an error that becomes a problem answer. */
export function refusal(status: ContentfulStatusCode, detail: string, more: RefusalOptions = {}) {
  return new HTTPException(status, { message: detail, cause: more });
}

type DatabaseError = Error & {
  code?: string;
  detail?: string;
  hint?: string;
  constraint?: string;
  table?: string;
  /** The node of several that did not answer. */
  node?: number;
};

/** A GET has no request id and no effect that could happen twice. */
const repeatHint = (method: string) =>
  method === 'GET'
    ? 'Repeat the call.'
    : 'Repeat the call; with the same request_id it has no second effect.';
const poolFullHint =
  'If the error stays, send more tasks in a call, or give the pool more connections.';
const unreachableHint =
  'If the error stays, check that PostgreSQL runs and that the Worker reaches it: GET /v1/health.';

/** A random delay of 1 to 3 seconds, so that callers refused at the same time don't retry at the same time. */
export const retryAfterHeader = () => ({
  'Retry-After': String(1 + Math.floor(3 * Math.random())),
});

/** Errors of Citus without a code of their own, when a server ends during a call. */
const serverEnded = /^(postmaster was shut down|SSL SYSCALL error|server closed the connection)/;

/**
 * True if a retry can succeed: two claims collided, a partition is not created yet or was dropped during the call, or a
 * node of several has ended.
 */
function isTransient({ code, message, constraint, table }: DatabaseError): boolean {
  return (
    (code === '42883' && /^function tock\.\w+_\d+\(/.test(message)) ||
    (code === '23505' && /^leases_\d+_pkey$/.test(constraint ?? '')) ||
    (code === '23514' && table !== undefined && constraint === undefined) ||
    (code === 'XX000' && serverEnded.test(message))
  );
}

function fromDatabase(error: DatabaseError, method: string): Refusal {
  const status = isTransient(error) ? 503 : statusOf(error.code);
  const { message, detail, hint, constraint } = error;
  if (error.code?.startsWith('TK')) {
    return { status, detail: message, field: detail || undefined, hint: hint || undefined };
  }
  switch (status) {
    case 409:
      return { status, detail: 'The object already exists.' };
    case 422:
      // The name of a constraint is a sentence, so it is the detail.
      return { status, detail: constraint?.replaceAll('_', ' ') ?? message };
    case 503:
      if (isPoolFull(error)) {
        const detail = 'All database connections are in use.';
        return {
          status,
          detail,
          hint: `${repeatHint(method)} ${poolFullHint}`,
          headers: retryAfterHeader(),
        };
      }
      return {
        status,
        detail:
          error.node === undefined
            ? 'The database is unreachable or overloaded.'
            : `The database of node ${error.node} is unreachable or overloaded. Other nodes are not concerned.`,
        hint: `${repeatHint(method)} ${unreachableHint}`,
      };
    default:
      return { status: 500, detail: "The error is in the Worker's log.", hint: repeatHint(method) };
  }
}

function refusalOf(error: Error, method: string): Refusal {
  if (error instanceof HTTPException) {
    return {
      status: error.status as ContentfulStatusCode,
      detail: error.message,
      ...(error.cause as RefusalOptions),
    };
  }
  return fromDatabase(error, method);
}

/** The seconds for Retry-After; SQL gives them only in the text of the hint. */
const retryAfter = (hint = '') => /\bin (\d+) seconds/.exec(hint)?.[1] ?? '1';

function headersOf({ status, headers, hint }: Refusal): Record<string, string> {
  return {
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(status === 503 && { 'Retry-After': '1' }),
    ...(status === 429 && { 'Retry-After': retryAfter(hint) }),
    ...headers,
    'Content-Type': 'application/problem+json',
  };
}

/** A relative reference to the page of docs/errors, which this server has too. */
function kindOf(status: number): { type: string; title: string } {
  const title = titles[status];
  if (title) return { type: `/errors/TK${status}`, title };
  return { type: 'about:blank', title: 'The request was refused' };
}

/** Converts each error to its answer (RFC 9457), which never has a stack trace. */
export function problem(error: Error, c: Context): Response {
  const refused = refusalOf(error, c.req.method);
  const { status, detail, field, errors } = refused;
  const text = refused.hint ?? hints[status];
  const hint = text && text[0]?.toUpperCase() + text.slice(1);
  if (status >= 500 && !(error instanceof HTTPException))
    console.error(`${status} ${(error as DatabaseError).code ?? ''} ${error.message}`);
  const body = { ...kindOf(status), status, detail, field, hint, errors };
  return c.body(JSON.stringify(body), status, headersOf(refused));
}
