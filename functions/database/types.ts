import type { Bindings } from '../env.ts';

/** One statement in, rows out. Throws an error whose `code` is a SQLSTATE. */
export type Query = (text: string, values?: unknown[]) => Promise<Record<string, unknown>[]>;

/** `most` is how many statements a request may send, where its way has a limit. */
export type Use<T> = (query: Query, most?: number) => Promise<T>;

/**
 * Opens a way to the database for the time of `use`: the only door there is. Nothing is tried twice
 * here, as nobody knows whether a lost statement was done: the caller repeats, with its request id.
 */
export type Connect = <T>(env: Bindings, use: Use<T>) => Promise<T>;
