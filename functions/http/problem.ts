import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { isPoolFull, statusOf } from '../database/errors.ts';

export type FieldError = { field: string; detail: string };

/** What a refusal says besides its status and detail; `hint` is what to do next. */
type More = {
  field?: string | undefined;
  hint?: string | undefined;
  errors?: FieldError[] | undefined;
  headers?: Record<string, string>;
};

type Refusal = More & { status: ContentfulStatusCode; detail: string };

const kinds: Record<number, [slug: string, title: string]> = {
  400: ['malformed', 'The request is malformed'],
  401: ['unauthorized', 'A valid key is needed'],
  403: ['forbidden', 'The key does not allow this'],
  404: ['not-found', 'There is no such thing'],
  405: ['method-not-allowed', 'The method is not allowed here'],
  408: ['too-slow', 'The request came too slowly'],
  409: ['conflict', 'As things stand, this cannot be done'],
  413: ['too-large', 'The request is too large'],
  414: ['too-long', 'The address is too long'],
  415: ['not-json', 'The body is not JSON'],
  422: ['invalid', 'Something in the request is not as it should be'],
  429: ['too-many-requests', 'The key has made as many requests as it may'],
  500: ['failed', 'Something went wrong in Tock'],
  503: ['unavailable', 'This can not be had now'],
  507: ['answer-too-large', 'The answer is too large for this way to the database'],
};

/** What to do next, where nobody said it better. */
const hints: Record<number, string> = {
  400: 'Send one JSON object in UTF-8; GET /openapi.json says what this route takes.',
  413: 'Split it into several calls.',
  422: 'GET /openapi.json says what this route takes.',
};

/** To be thrown: becomes a problem answer. */
export function refusal(status: ContentfulStatusCode, detail: string, more: More = {}) {
  return new HTTPException(status, { message: detail, cause: more });
}

type DatabaseError = Error & {
  code?: string;
  detail?: string;
  hint?: string;
  constraint?: string;
  table?: string;
};

/** A look has no request id, and nothing that could be done twice. */
const again = (method: string) =>
  method === 'GET'
    ? 'Repeat the call.'
    : 'Repeat the call; with the same request_id it does nothing twice.';
const poolFull = 'If it stays so, send more tasks a call, or give the pool more connections.';
const outOfReach =
  'If it stays so, see that PostgreSQL runs and that the Worker reaches it: GET /v1/health.';

/** 1 to 3 seconds: who was turned away together must not come back together. */
export const later = () => ({ 'Retry-After': String(1 + Math.floor(3 * Math.random())) });

/** Two claims that met, or no partition to put a row in yet: the caller has done nothing wrong. */
function passing({ code, constraint, table }: DatabaseError): boolean {
  return (
    (code === '23505' && /^leases_\d+_pkey$/.test(constraint ?? '')) ||
    (code === '23514' && table !== undefined && constraint === undefined)
  );
}

function fromDatabase(error: DatabaseError, method: string): Refusal {
  const status = passing(error) ? 503 : statusOf(error.code);
  const { message, detail, hint, constraint } = error;
  if (error.code?.startsWith('TK')) {
    return { status, detail: message, field: detail || undefined, hint: hint || undefined };
  }
  switch (status) {
    case 409:
      return { status, detail: 'This exists already.' };
    case 422:
      // A constraint's name is a sentence.
      return { status, detail: constraint?.replaceAll('_', ' ') ?? message };
    case 503:
      if (isPoolFull(error)) {
        const detail = 'All connections to the database are taken.';
        return { status, detail, hint: `${again(method)} ${poolFull}`, headers: later() };
      }
      return {
        status,
        detail: 'The database is out of reach, or too busy.',
        hint: `${again(method)} ${outOfReach}`,
      };
    default:
      return { status: 500, detail: "It is in the Worker's log.", hint: again(method) };
  }
}

function refusalOf(error: Error, method: string): Refusal {
  if (error instanceof HTTPException) {
    return {
      status: error.status as ContentfulStatusCode,
      detail: error.message,
      ...(error.cause as More),
    };
  }
  return fromDatabase(error, method);
}

/** SQL says when in words alone. */
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

/** The one place where a refusal or an accident becomes an answer: RFC 9457, never a stack trace. */
export function problem(error: Error, c: Context): Response {
  const refused = refusalOf(error, c.req.method);
  const { status, detail, field, errors } = refused;
  const said = refused.hint ?? hints[status];
  const hint = said && said[0]?.toUpperCase() + said.slice(1);
  if (status >= 500 && !(error instanceof HTTPException))
    console.error(`${status} ${(error as DatabaseError).code ?? ''} ${error.message}`);
  const [slug, title] = kinds[status] ?? ['refused', 'The request was refused'];
  const body = { type: `urn:tock:problem:${slug}`, title, status, detail, field, hint, errors };
  return c.body(JSON.stringify(body), status, headersOf(refused));
}
