import { TockError } from '../errors.ts';
import { pause } from '../pause.ts';

/** What of a client of node-postgres is needed. */
export type SqlClient = {
  // biome-ignore lint/suspicious/noExplicitAny: rows of whatever is asked
  query(text: string, values?: unknown[]): Promise<{ rows: any[]; command?: string }>;
};

export type Pooled = SqlClient & {
  /** With an error the connection isn't used again. */
  release(error?: Error | boolean): void;
  on?(event: 'error', listener: () => void): unknown;
  off?(event: 'error', listener: () => void): unknown;
};

/** What of a pool of node-postgres is needed; `options.max` is looked at where it is there. */
export type SqlPool = SqlClient & {
  connect(): Promise<Pooled>;
  on?(event: 'error', listener: () => void): unknown;
  off?(event: 'error', listener: () => void): unknown;
  options?: { max?: number };
};

type DatabaseError = Error & {
  code?: string;
  detail?: string;
  hint?: string;
  constraint?: string;
  table?: string;
};

/** What a database's error says; of anything else that may be thrown, nothing. */
function saidBy(error: unknown): DatabaseError | null {
  try {
    return error instanceof Error ? error : null;
  } catch {
    return null;
  }
}

/**
 * Whether a commit was refused, as by a deferred constraint or a serializable transaction: then it is rolled back. Of a
 * connection that broke, nobody knows.
 */
export const isRefusedCommit = (error: unknown) =>
  /^(?!40003)(2\d|4[0-4]|P0|TK)/.test(saidBy(error)?.code ?? '');

/** Tock's own refusals say a status; others stay as they are. */
export function asRefusal(error: unknown): unknown {
  const { code, message, detail, hint } = saidBy(error) ?? {};
  if (!message || !code || !/^TK\d{3}$/.test(code)) return error;
  const status = Number(code.slice(2));
  const problem = {
    status,
    detail: message,
    ...(detail && { field: detail }),
    ...(hint && { hint }),
  };
  return new TockError(status, problem, { cause: error });
}

// Connections, serialization and deadlocks, resources, locks, shutdowns, cancelled statements, a standby, an epoch that
// was dropped, the system's own, such as ECONNRESET; and the driver's, such as a connection that ended, which have no code.
const passing =
  /^(08|25006|40001|40P01|42P01|53|55P03|57014|57P0|58|XX|TK503|E[A-Z]{4}|EAI_AGAIN|$)/;
// Two claims that met, and a partition that isn't there yet: as functions/http/problem.ts has it.
const isPassing = ({ code = '', constraint = '', table }: DatabaseError) =>
  passing.test(code) ||
  (code === '23505' && /^leases_\d+_pkey$/.test(constraint)) ||
  (code === '23514' && table !== undefined && constraint === '');

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
      const said: DatabaseError = saidBy(error) ?? new Error('Nothing is said.');
      if (!isPassing(said)) throw asRefusal(error);
      if (tries === MOST_TRIES || signal?.aborted)
        throw new TockError(503, { detail: said.message || said.code || '' }, { cause: error });
      await pause(100 * 2 ** tries * (0.5 + 0.5 * Math.random()), signal);
    }
  }
}
