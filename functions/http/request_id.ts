import { refusal } from './problem.ts';

/** The id under which a call can be repeated, from the body or the header Idempotency-Key. */
export function requestIdOf(body: object, header: string | undefined): string | null {
  const given = (body as { request_id?: string | null }).request_id ?? undefined;
  if (given !== undefined && header !== undefined && given !== header) {
    throw refusal(422, 'request_id: it differs from the header Idempotency-Key', {
      field: 'request_id',
      hint: 'Give one of them.',
    });
  }
  return given ?? header ?? null;
}
