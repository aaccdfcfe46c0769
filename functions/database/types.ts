import type { Bindings } from '../env.ts';

/** Runs one statement and returns its rows. Throws an error whose `code` is a SQLSTATE. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** `most` is the maximum number of statements of a request, if the driver has a limit. */
export type Use<T> = (query: Query, most?: number) => Promise<T>;

/**
 * Opens a database connection for the duration of `use`. It never retries, because a statement without an answer may
 * have been executed. The caller can retry with the same request id.
 */
export type Connect = <T>(env: Bindings, use: Use<T>) => Promise<T>;
