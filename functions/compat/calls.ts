import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { refusal } from '../http/problem.ts';
import type { CallTock, TockAnswer } from './adapter.ts';

/** The body of Tock's answer; throws its refusal. */
export function expectOk({ status, body, headers }: TockAnswer): TockAnswer['body'] {
  if (status < 300) return body;
  const retryAfter = headers.get('Retry-After');
  throw refusal(status as ContentfulStatusCode, body.detail, {
    field: body.field,
    hint: body.hint,
    ...(retryAfter !== null && { headers: { 'Retry-After': retryAfter } }),
  });
}

/** Throws unless the key exists: before a large body is read, and for a request that needs no other call. */
export async function checkKey(tock: CallTock): Promise<void> {
  expectOk(await tock('GET', '/v1/key'));
}
