import type pg from 'pg';
import { type ExitCode, Failure } from '../migrate/failure.ts';
import { withOptionName, withOptions } from './option_names.ts';

const missing = 'Migrate the database to this version: tock migrate';

const retryHint = 'Check that PostgreSQL runs, then retry.';

// Errors of the connection, shutdowns, and system errors such as ECONNRESET.
const unreachable = /^(08|57P0|E[A-Z]{4})/;

const exitCodes: Record<string, ExitCode> = { TK400: 2, TK404: 3, TK422: 2, TK503: 4 };

/** Converts a database's error to one for users. Errors of PostgreSQL get a hint; Tock's own errors have one. */
export function explain(cause: unknown): Error {
  const { code = '', message, detail, hint } = cause as pg.DatabaseError;
  if (/^TK\d{3}$/.test(code)) {
    return new Failure(
      withOptionName(detail, message),
      hint && withOptions(hint),
      exitCodes[code] ?? 1,
    );
  }
  if (code === '3F000' || code === '42883' || code === '42P01') {
    return new Failure(`This database does not have this part of Tock: ${message}.`, missing);
  }
  if (code === '42501') {
    const next = 'Connect as the role that ran the migrations (DATABASE_URL).';
    return new Failure(`This role lacks the permission: ${message}.`, next);
  }
  if (unreachable.test(code))
    return new Failure(`The connection to PostgreSQL broke: ${message}.`, retryHint, 4);
  if (code) return new Failure(`PostgreSQL refused the statement: ${message} (${code}).`, hint);
  return cause as Error;
}

export async function runStatement<Row extends object>(
  client: pg.Client,
  sql: string,
  values: unknown[] = [],
): Promise<Row[]> {
  try {
    return (await client.query<Row>(sql, values)).rows;
  } catch (error) {
    throw explain(error);
  }
}
