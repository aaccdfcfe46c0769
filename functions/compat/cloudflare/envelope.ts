import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Env } from '../../http/endpoint.ts';
import { problem } from '../../http/problem.ts';

/** Cloudflare's codes of Queues and of its API, by the status of Tock's answer. */
const codes: Record<number, number> = {
  400: 10208, // the body is not JSON
  401: 10000, // authentication error
  403: 10106, // unauthorized
  404: 7003, // no route
  413: 10205, // the batch is too large
  422: 10207, // the body does not match
  429: 10250, // overloaded
};
const INVALID_QUEUE = 10107;
const UNKNOWN_ERROR = 15000;

/** What Cloudflare's clients expect around each result. */
export const success = (c: Context<Env>, result: object): Response =>
  c.json({ success: true, errors: [], messages: [], result });

/** Converts an error to an envelope. What Tock refuses with a 422 is a 400 at Cloudflare. */
export async function failure(c: Context<Env>, error: Error): Promise<Response> {
  const refused = problem(error, c);
  const { status, detail, field } = (await refused.json()) as {
    status: number;
    detail: string;
    field?: string;
  };
  const code = field === 'queue' ? INVALID_QUEUE : (codes[status] ?? UNKNOWN_ERROR);
  const retryAfter = refused.headers.get('Retry-After');
  return c.json(
    { success: false, errors: [{ code, message: detail }], messages: [], result: null },
    (status === 422 ? 400 : status) as ContentfulStatusCode,
    retryAfter === null ? {} : { 'Retry-After': retryAfter },
  );
}
