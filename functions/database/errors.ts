import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** A configuration error of the Worker; the caller gets it as a 503 with a hint. */
export function misconfigured(message: string, hint: string): Error {
  return Object.assign(new Error(message), { code: 'TK503', hint });
}

/**
 * Returns an error with a SQLSTATE. An error from PostgreSQL has one, and a severity. An error of a driver or the
 * network gets `code`.
 */
export function withSqlstate(error: unknown, code: string): Error {
  const fields = Object(error) as Partial<
    Record<'severity' | 'code' | 'routine' | 'message', string>
  >;
  // A configuration error: see misconfigured().
  if (error instanceof Error && fields.code === 'TK503') return error;
  // Neon's proxy uses XX000 for all its own errors, such as a sleeping database. PostgreSQL's XX000 has a routine.
  const isFromPostgres = fields.severity && (fields.code !== 'XX000' || fields.routine);
  if (error instanceof Error && isFromPostgres) return error;
  return Object.assign(new Error(fields.message || String(error)), { code });
}

// The messages of PgBouncer, Supavisor and Hyperdrive; their codes differ too much.
const poolFullMessage =
  /query_wait_timeout|max_client_conn|max client(s| connections)? reached|open slot in the pool|pool exhausted|check ?out|EMAXCONN|too many (clients|connections)|connection slots are reserved/i;

/** Whether an error means that all connections are in use. */
export const isPoolFull = ({ code, message }: { code?: string; message: string }) =>
  code === '53300' || (/^(08|58|XX|57)/.test(code ?? '') && poolFullMessage.test(message));

// These errors are transient. 42P01: a segment's table was dropped during the call. 58000: Hyperdrive's pool is full.
const unavailable = /^(08|25006|40001|40P01|42P01|53|55P03|57P0|57014|58000)/;
const invalid = /^(22|23514|54)/;

/** The HTTP status of a SQLSTATE. Tock's own codes contain it: TK404 is 404. */
export function statusOf(code: string | undefined): ContentfulStatusCode {
  if (!code) return 500;
  if (/^TK[45]\d\d$/.test(code)) return Number(code.slice(2)) as ContentfulStatusCode;
  if (code === '23505') return 409;
  if (invalid.test(code)) return 422;
  return unavailable.test(code) ? 503 : 500;
}
