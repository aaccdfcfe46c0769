import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Bindings } from '../../env.ts';
import { refusal } from '../../http/problem.ts';
import type { CallTock, TockAnswer } from '../adapter.ts';

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

export const json = (body: unknown, status = 200) => Response.json(body, { status });
/** For calls whose answer has nothing to tell. */
export const done = () => json({});

/** The body of Tock's answer; throws its refusal. */
export function expectOk({ status, body, headers }: TockAnswer): TockAnswer['body'] {
  if (status < 400) return body;
  const retryAfter = headers.get('Retry-After');
  throw refusal(status as ContentfulStatusCode, body.detail ?? `status ${status}`, {
    hint: body.hint,
    ...(retryAfter !== null && { headers: { 'Retry-After': retryAfter } }),
  });
}

/** Like expectOk(), but null if there is no such thing. */
export const unlessMissing = (answer: TockAnswer): TockAnswer['body'] | null =>
  answer.status === 404 ? null : expectOk(answer);

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
