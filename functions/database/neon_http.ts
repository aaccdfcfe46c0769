import { neon, neonConfig } from '@neondatabase/serverless';
import { NEON_HTTP_MS } from '../timeouts.ts';
import { withSqlstate } from './errors.ts';
import { neonOf } from './neon.ts';
import type { Connect, Query } from './types.ts';

// A Worker's request may make 50 subrequests on the free plan.
export const MAX_STATEMENTS = 45;

const defaultEndpoint = neonConfig.fetchEndpoint;

const tooLarge: Record<string, { code: string; message: string; detail: string; hint: string }> = {
  413: {
    code: 'TK413',
    message:
      'The request is over 10 MiB, which Neon allows over HTTPS (escaped quotes count twice).',
    detail: 'body',
    hint: 'split it into several calls',
  },
  507: {
    code: 'TK507',
    message:
      'The answer is over 10 MiB, which Neon allows over HTTPS (escaped quotes count twice).',
    detail: 'limit',
    hint: 'request less at once; tasks that this claim has leased return when their lease ends',
  },
};

/** Neon's proxy gives its own errors no code, only an HTTP status in the message. */
function errorFromProxy(error: unknown): Error {
  const { message = '', sourceError } = error as { message?: string; sourceError?: Error };
  const [, status = ''] = /^Server error \(HTTP status (\d+)\)/.exec(message) ?? [];
  const sizeError = tooLarge[status];
  if (sizeError) return Object.assign(new Error(), sizeError);
  if (status === '429') return withSqlstate(error, '53300');
  return withSqlstate(
    error,
    sourceError && sourceError.name !== 'TimeoutError' ? '08001' : '08006',
  );
}

/** One HTTPS request per statement: one round trip, no session, 10 MiB in each direction. */
export const connectNeonHttp: Connect = async (env, use) => {
  const { url, proxy } = neonOf(env);
  const sql = neon(url, { fullResults: true });
  const query: Query = (text, values) => {
    const fetchOptions = { signal: AbortSignal.timeout(NEON_HTTP_MS) };
    // This setting is global, but the driver reads it synchronously, so concurrent requests don't mix.
    neonConfig.fetchEndpoint = proxy ? new URL('/sql', proxy).href : defaultEndpoint;
    return sql.query(text, values, { fetchOptions }).then(
      ({ rows }) => rows,
      (error) => {
        throw errorFromProxy(error);
      },
    );
  };
  return use(query, MAX_STATEMENTS);
};
