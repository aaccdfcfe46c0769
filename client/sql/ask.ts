import { TockError } from '../errors.ts';
import { pause } from '../pause.ts';

/** What of a client of node-postgres is needed. */
export type SqlClient = {
  // biome-ignore lint/suspicious/noExplicitAny: rows of whatever is asked
  query(text: string, values?: unknown[]): Promise<{ rows: any[] }>;
};

export type Pooled = SqlClient & {
  /** With an error the connection isn't used again. */
  release(error?: Error | boolean): void;
  on?(event: 'error', listener: () => void): unknown;
  off?(event: 'error', listener: () => void): unknown;
};

/** What of a pool of node-postgres is needed. */
export type SqlPool = SqlClient & { connect(): Promise<Pooled> };

type DatabaseError = Error & { code?: string; detail?: string; hint?: string };

/** Tock's own refusals say a status; others stay as they are. */
export function asRefusal(error: unknown): unknown {
  const { code = '', message, detail, hint } = error as DatabaseError;
  if (!/^TK\d{3}$/.test(code)) return error;
  const status = Number(code.slice(2));
  const problem = {
    status,
    detail: message,
    ...(detail && { field: detail }),
    ...(hint && { hint }),
  };
  return new TockError(status, problem, { cause: error });
}

// Connections, serialization and deadlocks, resources, locks, shutdowns, the system's own, such as ECONNRESET; and the
// driver's, such as a connection that ended, which have no code.
const passing = /^(08|40001|40P01|53|55P03|57P0|TK503|E[A-Z]{4}|$)/;

const MOST_TRIES = 6;

/** One statement, its own transaction, repeated when it came to nothing: each carries a lease or a request id. */
export async function ask<Row>(
  client: SqlClient,
  text: string,
  values: unknown[],
  signal?: AbortSignal,
): Promise<Row | undefined> {
  for (let tries = 1; ; tries++) {
    try {
      return (await client.query(text, values)).rows[0];
    } catch (error) {
      const { code = '', message } = error as DatabaseError;
      if (!passing.test(code)) throw asRefusal(error);
      if (tries === MOST_TRIES || signal?.aborted)
        throw new TockError(503, { detail: message }, { cause: error });
      await pause(100 * 2 ** tries * (0.5 + 0.5 * Math.random()), signal);
    }
  }
}
