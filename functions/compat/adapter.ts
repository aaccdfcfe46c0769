import type { Context } from 'hono';
import type { Env } from '../http/endpoint.ts';

// biome-ignore lint/suspicious/noExplicitAny: an adapter knows the route that it has called
export type TockAnswer = { status: number; body: any; headers: Headers };

/** Calls a route of Tock in this process, with the key of the caller. */
export type CallTock = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
) => Promise<TockAnswer>;

/** Translates the requests of a foreign client into calls of Tock's own routes. */
export type Adapter = {
  name: 'sqs' | 'cloudflare' | 'qstash';
  /** Whether this request is one of this adapter. It runs for every request if the adapter is on, so it must be cheap. */
  matches(request: Request): boolean;
  /** The Tock key of the request, in the form of the foreign client; null: none. */
  keyOf(request: Request): string | null;
  handle(c: Context<Env>, tock: CallTock): Promise<Response>;
};
