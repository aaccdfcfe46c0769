/** The size of a request and an answer that Neon allows over HTTP (proxy/src/binary/proxy.rs and its documentation). */
export const MAX_BYTES = 10 * 1024 * 1024;
