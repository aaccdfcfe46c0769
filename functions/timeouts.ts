// Timeouts of network operations. docs/decisions/0023-every-wait-ends.md lists them, and what limits the rest.

/** A connection: TCP, TLS and login. */
export const CONNECT_MS = 5_000;

/** A connection to Neon. Its proxy waits this long for a sleeping database to wake. */
export const NEON_CONNECT_MS = 15_000;

/** A statement. The role's own statement_timeout of 30 s fires first, with a better error. */
export const QUERY_MS = 35_000;

/** A statement over HTTPS to Neon, including the wake of its database. */
export const NEON_HTTP_MS = 50_000;

/** The end of a connection: a dead network must not delay the response. */
export const END_MS = 1_000;

/** A request's body, from its head to its last byte. */
export const BODY_MS = 30_000;

/** Each interval of this length must bring MIN_BYTES of a body, so that a stalled sender does not keep its slot. */
export const BODY_STALL_MS = 5_000;

/** The database, for a health probe. */
export const HEALTH_MS = 5_000;

/** A notification of the Durable Object. */
export const NOTIFY_ALARM_MS = 5_000;

/** Object storage, for an object of some megabytes. */
export const STORE_MS = 30_000;
