import { neon, neonConfig } from '@neondatabase/serverless';
import { NEON_HTTP_MS } from '../timeouts.ts';
import { withSqlstate } from './errors.ts';
import { neonOf } from './neon.ts';
import type { Connect, Query } from './types.ts';

// A Worker's request may make 50 of its own on the free plan.
const MOST_STATEMENTS = 45;

const ownEndpoint = neonConfig.fetchEndpoint;

const tooLarge: Record<string, { code: string; message: string; detail: string; hint: string }> = {
  413: {
    code: 'TK413',
    message: 'The request is over the 10 MiB that Neon takes over HTTPS, with its quotes escaped.',
    detail: 'body',
    hint: 'split it into several calls',
  },
  507: {
    code: 'TK507',
    message: 'The answer is over the 10 MiB that Neon gives over HTTPS, with its quotes escaped.',
    detail: 'limit',
    hint: 'ask for less at once; what a claim leased in vain comes back when its lease ends',
  },
};

/** Neon's proxy says with a status, and only with it, what it has to say itself. */
function told(error: unknown): Error {
  const { message = '', sourceError } = error as { message?: string; sourceError?: Error };
  const [, status = ''] = /^Server error \(HTTP status (\d+)\)/.exec(message) ?? [];
  const large = tooLarge[status];
  if (large) return Object.assign(new Error(), large);
  if (status === '429') return withSqlstate(error, '53300');
  return withSqlstate(
    error,
    sourceError && sourceError.name !== 'TimeoutError' ? '08001' : '08006',
  );
}

/** Over HTTPS, each statement on its own: one round trip, no session, 10 MiB in and out. */
export const connectNeonHttp: Connect = async (env, use) => {
  const { url, proxy } = neonOf(env);
  const sql = neon(url, { fullResults: true });
  const query: Query = (text, values) => {
    const fetchOptions = { signal: AbortSignal.timeout(NEON_HTTP_MS) };
    // There is but this one setting for all; then() reads it at once.
    neonConfig.fetchEndpoint = proxy ? new URL('/sql', proxy).href : ownEndpoint;
    return sql.query(text, values, { fetchOptions }).then(
      ({ rows }) => rows,
      (error) => {
        throw told(error);
      },
    );
  };
  return use(query, MOST_STATEMENTS);
};
