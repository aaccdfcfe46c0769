/** A connection of the command line's own. */
export const CONNECT_MS = 15_000;

/** A verb's statement; those of a migration take as long as they take. */
export const STATEMENT_MS = 300_000;

/** The end of a connection. */
export const END_MS = 1_000;
