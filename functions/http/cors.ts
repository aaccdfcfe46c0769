import type { MiddlewareHandler } from 'hono';
import { cors as honoCors } from 'hono/cors';
import type { Env } from './endpoint.ts';

const allow = honoCors({
  origin: (origin) => origin,
  allowMethods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
  allowHeaders: [
    'Authorization',
    'Content-Type',
    'Idempotency-Key',
    'traceparent',
    'tracestate',
    'baggage',
  ],
  exposeHeaders: ['Retry-After', 'X-Request-Id'],
  // As long as Chrome keeps it: an origin that is struck off is soon asked again.
  maxAge: 7200,
});

/** As browsers say it: without a path, in small letters. */
const said = (origin: string) => origin.trim().replace(/\/+$/, '').toLowerCase();

/** An address: not `*`, and not `null`, which any page in a sandbox is. */
const isSome = (origin: string) => origin.includes('://');

/**
 * Lets pages of the origins in TOCK_ORIGINS call, also by the browser's question before; of others it knows nothing.
 * Never with cookies: a key is sent by a page's own doing.
 */
export const cors: MiddlewareHandler<Env> = async (c, next) => {
  const listed = c.env?.TOCK_ORIGINS?.split(',').map(said).filter(isSome) ?? [];
  const origin = c.req.header('origin');
  if (origin !== undefined && listed.includes(origin)) return allow(c, next);
  await next();
  if (listed.length > 0) c.header('Vary', 'Origin', { append: true });
};
