import type { Bindings } from '../../env.ts';
import { refusal } from '../../http/problem.ts';
import type { CallTock, TockAnswer } from '../adapter.ts';
import { expectOk } from '../calls.ts';

/** A request of a QStash client. */
export type Call = {
  tock: CallTock;
  env: Bindings;
  headers: Headers;
  query: URLSearchParams;
  bytes(): Promise<Uint8Array>;
};

/** Answers a call; the parameters are the parts of its path. */
export type Handler = (call: Call, ...parameters: string[]) => Promise<Response>;

/** So many calls of Tock run at once; each takes a connection. */
const AT_ONCE = 10;

export const json = (body: unknown, status = 200) => Response.json(body, { status });
/** For calls whose answer has nothing to tell. */
export const done = () => json({});

/** Like expectOk(), but null if there is no such thing. */
export const unlessMissing = (answer: TockAnswer): TockAnswer['body'] | null =>
  answer.status === 404 ? null : expectOk(answer);

/** Calls a function for each item, some at once; returns the results in order. */
export async function forEach<T, R>(
  items: readonly T[],
  call: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE)
    results.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(call))));
  return results;
}

/** The object in a JSON body. */
export async function readObject(call: Call): Promise<Record<string, unknown>> {
  const value = parseJson(await call.bytes());
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw refusal(400, 'The body must be a JSON object.');
}

export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw refusal(400, 'The body is not JSON in UTF-8.');
  }
}

/** A part of a path. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw refusal(400, 'The path is not encoded correctly.');
  }
}
