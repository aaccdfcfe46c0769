import { refusal } from './problem.ts';

/** The idempotency id of a call, from the body or the header Idempotency-Key. */
export function requestIdOf(body: object, header: string | undefined): string | null {
  const fromBody = (body as { request_id?: string | null }).request_id ?? undefined;
  if (fromBody !== undefined && header !== undefined && fromBody !== header) {
    throw refusal(422, 'request_id: differs from the header Idempotency-Key', {
      field: 'request_id',
      hint: 'Send only one of them.',
    });
  }
  return fromBody ?? header ?? null;
}
