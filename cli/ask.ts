import type pg from 'pg';
import { type ExitCode, Failure } from '../migrate/failure.ts';
import { inOptions, told } from './told.ts';

const missing = 'Bring the database to this version: tock migrate';

const again = 'See that PostgreSQL is up, then try again.';

// Connection exceptions, shutdowns, and the system's own, such as ECONNRESET.
const outOfReach = /^(08|57P0|E[A-Z]{4})/;

const exitCodes: Record<string, ExitCode> = { TK400: 2, TK404: 3, TK422: 2, TK503: 4 };

/** Tock's own errors say what to do; PostgreSQL's get it from here. */
export function explain(cause: unknown): Error {
  const { code = '', message, detail, hint } = cause as pg.DatabaseError;
  if (/^TK\d{3}$/.test(code)) {
    return new Failure(told(detail, message), hint && inOptions(hint), exitCodes[code] ?? 1);
  }
  if (code === '3F000' || code === '42883' || code === '42P01') {
    return new Failure(`This database has no such part of Tock: ${message}.`, missing);
  }
  if (code === '42501') {
    const next = 'Connect as the role that migrated (DATABASE_URL).';
    return new Failure(`This role may not do that: ${message}.`, next);
  }
  if (outOfReach.test(code)) return new Failure(`PostgreSQL went away: ${message}.`, again, 4);
  if (code) return new Failure(`PostgreSQL refused: ${message} (${code}).`, hint);
  return cause as Error;
}

export async function ask<Row extends object>(
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
