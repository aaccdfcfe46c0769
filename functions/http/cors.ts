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
    'Tock-First-Try',
    'traceparent',
    'tracestate',
    'baggage',
  ],
  exposeHeaders: ['Retry-After', 'X-Request-Id'],
  // Chrome's maximum. A browser may still use an origin for this long after it was removed.
  maxAge: 7200,
});

/** Writes an origin as browsers send it: without a path, in lower case. */
const normalize = (origin: string) => origin.trim().replace(/\/+$/, '').toLowerCase();

/** False for `*`, and for `null`, which any sandboxed page sends. */
const isUrl = (origin: string) => origin.includes('://');

/**
 * Allows calls, including preflight requests, from pages of the origins in TOCK_ORIGINS. It never allows cookies: a
 * page must send the key in a header.
 */
export const cors: MiddlewareHandler<Env> = async (c, next) => {
  const allowed = c.env?.TOCK_ORIGINS?.split(',').map(normalize).filter(isUrl) ?? [];
  const origin = c.req.header('origin');
  if (origin !== undefined && allowed.includes(origin)) return allow(c, next);
  await next();
  if (allowed.length > 0) c.header('Vary', 'Origin', { append: true });
};
