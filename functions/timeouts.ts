// How long anything on the network is waited for. ARCHITECTURE.md has the table, with what bounds the rest.

/** A connection: TCP, TLS and login. */
export const CONNECT_MS = 5_000;

/** The same to Neon, whose proxy waits as long for a database that wakes. */
export const NEON_CONNECT_MS = 15_000;

/** A statement. The role's own statement_timeout, 30 s, comes first and says so better. */
export const QUERY_MS = 35_000;

/** A statement over HTTPS to Neon, its database's waking included. */
export const NEON_HTTP_MS = 50_000;

/** The end of a connection: a dead network must not hold the answer up. */
export const END_MS = 1_000;

/** A request's body, from its head to its last byte. */
export const BODY_MS = 30_000;

/** A body brings LEAST_BYTES in each time as long as this: a sender that stalls holds a place no longer. */
export const BODY_STALL_MS = 5_000;

/** The database, for a probe that wants its answer soon. */
export const HEALTH_MS = 5_000;

/** The Durable Object, to be told that something may be due. */
export const NOTIFY_ALARM_MS = 5_000;

/** Object storage, an object of some megabytes there or back. */
export const STORE_MS = 30_000;
