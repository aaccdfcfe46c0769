/** What Neon's proxy takes and gives over HTTP (its defaults, proxy/src/binary/proxy.rs, and its documentation). */
export const MAX_BYTES = 10 * 1024 * 1024;
