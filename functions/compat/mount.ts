import type { Context } from 'hono';
import { misconfigured } from '../database/errors.ts';
import type { App, Env } from '../http/endpoint.ts';
import type { Adapter, CallTock } from './adapter.ts';

/** Headers of a foreign request that its calls keep: Tock's tasks may keep the trace. */
const keptHeaders = ['traceparent', 'tracestate', 'baggage'];

/** Undefined where the server has none, as on Node. */
function executionOf(c: Context<Env>) {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

function headersOf(c: Context<Env>, key: string | null, own: Record<string, string>): Headers {
  const headers = new Headers({ 'X-Request-Id': c.get('requestId'), ...own });
  for (const name of keptHeaders) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  // A key in a foreign header or body may have characters that no header may have. The route refuses `?`.
  if (key !== null) headers.set('Authorization', `Bearer ${key.replace(/[^\w.~+/=-]/g, '?')}`);
  return headers;
}

/** Calls routes of the app with the key, the trace and the execution context of a foreign request. */
function caller(app: App, c: Context<Env>, key: string | null): CallTock {
  const execution = executionOf(c);
  return async (method, path, body, own = {}) => {
    const headers = headersOf(c, key, {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...own,
    });
    const request = new Request(new URL(path, c.req.url), {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      signal: c.req.raw.signal,
    });
    const answered = Promise.resolve(app.fetch(request, c.env, execution));
    // If the client disconnects, the tasks that the call has claimed for a consumer are to be worked on all the same.
    execution?.waitUntil(answered);
    const response = await answered;
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json');
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    };
  };
}

/** The adapters that TOCK_COMPAT names; throws for an unknown name. */
function adaptersIn(names: string, adapters: ReadonlyMap<string, Adapter>): Adapter[] {
  return names.split(',').flatMap((text) => {
    const name = text.trim();
    const adapter = adapters.get(name);
    if (name === '' || adapter) return adapter ?? [];
    // The message omits the value: it may be a misplaced secret.
    throw misconfigured(
      'TOCK_COMPAT has a name that is no adapter.',
      `set TOCK_COMPAT to some of ${[...adapters.keys()].join(',')}, or leave it out`,
    );
  });
}

/** Answers requests of foreign clients by the adapters that TOCK_COMPAT turns on. Other requests go to Tock's routes. */
export function mountCompat(app: App, adapters: readonly Adapter[]): void {
  const byName = new Map<string, Adapter>(adapters.map((adapter) => [adapter.name, adapter]));
  app.use(async (c, next) => {
    const names = c.env?.TOCK_COMPAT;
    const adapter =
      names && adaptersIn(names, byName).find((enabled) => enabled.matches(c.req.raw));
    if (!adapter) return next();
    return adapter.handle(c, caller(app, c, adapter.keyOf(c.req.raw)));
  });
}
