import type { ContentfulStatusCode } from 'hono/utils/http-status';

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
