import { TockError } from '../errors.ts';
import { pause } from '../pause.ts';

/** The part of a node-postgres client that Tock uses. */
export type SqlClient = {
  // biome-ignore lint/suspicious/noExplicitAny: rows of any query
  query(text: string, values?: unknown[]): Promise<{ rows: any[]; command?: string }>;
};

export type Pooled = SqlClient & {
  /** With an error or true, the pool discards the connection. */
  release(error?: Error | boolean): void;
  on?(event: 'error', listener: () => void): unknown;
  off?(event: 'error', listener: () => void): unknown;
};

/** The part of a node-postgres pool that Tock uses; `options.max` is optional. */
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

/** A thrown value as a database error; null if it is no Error. */
function asDatabaseError(error: unknown): DatabaseError | null {
  try {
    return error instanceof Error ? error : null;
  } catch {
    return null;
  }
}

/**
 * True if PostgreSQL refused the commit and rolled back, for example by a deferred constraint or a serialization
 * failure. After a broken connection it is false, because the outcome is unknown.
 */
export const isRefusedCommit = (error: unknown) =>
  /^(?!40003)(2\d|4[0-4]|P0|TK)/.test(asDatabaseError(error)?.code ?? '');

/** Converts Tock's own refusals, whose SQLSTATE contains the HTTP status. Returns other errors unchanged. */
export function asRefusal(error: unknown): unknown {
  const { code, message, detail, hint } = asDatabaseError(error) ?? {};
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

// Connections, serialization and deadlocks, resources, locks, shutdowns, cancelled statements, a standby, a dropped
// segment, system errors such as ECONNRESET, and driver errors without a code, such as a closed connection.
const transient =
  /^(08|25006|40001|40P01|42P01|53|55P03|57014|57P0|58|XX|TK503|E[A-Z]{4}|EAI_AGAIN|$)/;
// Two claims collided, or a partition or its function is missing; isTransient() of functions/http/problem.ts is the same.
const isTransient = ({ code = '', message = '', constraint = '', table }: DatabaseError) =>
  transient.test(code) ||
  (code === '42883' && /^function tock\.\w+_\d+\(/.test(message)) ||
  (code === '23505' && /^leases_\d+_pkey$/.test(constraint)) ||
  (code === '23514' && table !== undefined && constraint === '');

const MAX_ATTEMPTS = 6;

/** Runs one statement as its own transaction. It retries transient errors: a lease or request id makes repeats safe. */
export async function queryWithRetry<Row>(
  client: SqlClient,
  text: string,
  values: unknown[],
  signal?: AbortSignal,
): Promise<Row | undefined> {
  for (let attempts = 1; ; attempts++) {
    try {
      return (await client.query(text, values)).rows[0];
    } catch (error) {
      const databaseError: DatabaseError = asDatabaseError(error) ?? new Error('unknown error');
      if (!isTransient(databaseError)) throw asRefusal(error);
      if (attempts === MAX_ATTEMPTS || signal?.aborted)
        throw new TockError(
          503,
          { detail: databaseError.message || databaseError.code || '' },
          { cause: error },
        );
      await pause(100 * 2 ** attempts * (0.5 + 0.5 * Math.random()), signal);
    }
  }
}

/** Commits. PostgreSQL answers ROLLBACK if a query has failed that the handler did not await. */
export async function commit(client: SqlClient): Promise<void> {
  const { command } = await client.query('commit');
  if (command !== 'ROLLBACK') return;
  const message = 'Nothing was committed: a query that the handler did not await has failed.';
  throw Object.assign(new Error(message), { code: '25P02' });
}

export const transactionEnded = () =>
  new Error('The handler has ended its transaction. Leave commit and rollback to workSql().');
