import type { ContentfulStatusCode } from 'hono/utils/http-status';

/** A Worker that is set up wrongly: said to the caller as a 503, with what to do next. */
export function misconfigured(message: string, hint: string): Error {
  return Object.assign(new Error(message), { code: 'TK503', hint });
}

/**
 * An error with a SQLSTATE. What PostgreSQL said has one (and a severity); what a driver or the
 * network throws, an Error or a mere event, gets the one given.
 */
export function withSqlstate(error: unknown, code: string): Error {
  const said = Object(error) as Partial<
    Record<'severity' | 'code' | 'routine' | 'message', string>
  >;
  // A setting of our own that is wrong: see misconfigured().
  if (error instanceof Error && said.code === 'TK503') return error;
  // Neon's proxy gives XX000 to all that it says itself, a sleeping database too; PostgreSQL, when
  // it says XX000, also says where.
  const own = said.severity && (said.code !== 'XX000' || said.routine);
  if (error instanceof Error && own) return error;
  return Object.assign(new Error(said.message || String(error)), { code });
}

// What poolers say, as they give it codes of many kinds: PgBouncer, Supavisor, Hyperdrive.
const poolFullMessage =
  /query_wait_timeout|max_client_conn|max client(s| connections)? reached|open slot in the pool|pool exhausted|check ?out|EMAXCONN|too many (clients|connections)|connection slots are reserved/i;

/** Whether an error says that all connections are taken. */
export const isPoolFull = ({ code, message }: { code?: string; message: string }) =>
  code === '53300' || (/^(08|58|XX|57)/.test(code ?? '') && poolFullMessage.test(message));

// 42P01: an epoch was dropped between a look and the next. 58000: Hyperdrive's pool is full.
const unavailable = /^(08|25006|40001|40P01|42P01|53|55P03|57P0|57014|58000)/;
const invalid = /^(22|23514|54)/;

/** The HTTP status of a SQLSTATE. Tock's own say it themselves: TK404 is 404. */
export function statusOf(code: string | undefined): ContentfulStatusCode {
  if (!code) return 500;
  if (/^TK[45]\d\d$/.test(code)) return Number(code.slice(2)) as ContentfulStatusCode;
  if (code === '23505') return 409;
  if (invalid.test(code)) return 422;
  return unavailable.test(code) ? 503 : 500;
}
