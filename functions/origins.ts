import type { MiddlewareHandler } from 'hono';
import { cors } from 'hono/cors';
import type { Env } from './endpoint.ts';

const allow = cors({
  origin: (origin) => origin,
  allowHeaders: ['Authorization', 'Content-Type', 'Idempotency-Key'],
  exposeHeaders: ['Retry-After', 'X-Request-Id'],
  maxAge: 86_400,
});

/** As browsers say it: without a path, in small letters. */
const said = (origin: string) => origin.trim().replace(/\/+$/, '').toLowerCase();

/** Lets pages of the origins in TOCK_ORIGINS call, also by the browser's question before; of others it knows nothing. */
export const origins: MiddlewareHandler<Env> = (c, next) => {
  const listed = c.env?.TOCK_ORIGINS?.split(',').map(said) ?? [];
  const origin = c.req.header('origin');
  return origin !== undefined && listed.includes(origin) ? allow(c, next) : next();
};
