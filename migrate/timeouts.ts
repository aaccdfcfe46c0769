/** Connecting, from the command line. */
export const CONNECT_MS = 15_000;

/** One verb's statement; statements of a migration have no limit. */
export const STATEMENT_MS = 300_000;

/** Closing a connection. */
export const END_MS = 1_000;
