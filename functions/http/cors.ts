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
  // Chrome's maximum: a removed origin is checked again within this time.
  maxAge: 7200,
});

/** As browsers send it: without a path, in lower case. */
const normalize = (origin: string) => origin.trim().replace(/\/+$/, '').toLowerCase();

/** A URL: not `*`, and not `null`, which any sandboxed page sends. */
const isUrl = (origin: string) => origin.includes('://');

/**
 * Allows calls from pages of the origins in TOCK_ORIGINS, including preflight requests. It never allows cookies: a page
 * must send the key itself.
 */
export const cors: MiddlewareHandler<Env> = async (c, next) => {
  const allowed = c.env?.TOCK_ORIGINS?.split(',').map(normalize).filter(isUrl) ?? [];
  const origin = c.req.header('origin');
  if (origin !== undefined && allowed.includes(origin)) return allow(c, next);
  await next();
  if (allowed.length > 0) c.header('Vary', 'Origin', { append: true });
};
