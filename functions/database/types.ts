import type { Bindings } from '../env.ts';

/** Runs one statement and returns its rows. Throws an error whose `code` is a SQLSTATE. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** `most` is the number of statements that a request may send, if the driver has a limit. */
export type Use<T> = (query: Query, most?: number) => Promise<T>;

/**
 * Opens a database connection for the duration of `use`. It never retries, because a lost statement may have been
 * executed: the caller retries with its request id.
 */
export type Connect = <T>(env: Bindings, use: Use<T>) => Promise<T>;
