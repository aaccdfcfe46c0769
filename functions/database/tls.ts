const own = /^(localhost|.*\.localhost|127(\.\d+){3}|::1|\/.*)$/i;

/** What to do where a connection would go to another host without TLS. */
export const sayTls =
  'give it sslmode=verify-full; sslmode=disable only where the network between is private';

/**
 * Whether a client of pg would send all in the clear to another host, though its URL doesn't say sslmode=disable. Host and ssl are
 * what pg made of the URL and of PGHOST and PGSSLMODE: of a parameter given twice it takes the last, and an empty one for none.
 */
export function lacksTls({ host, ssl }: { host: string; ssl: unknown }, url: string): boolean {
  // A string is one that pg doesn't understand, as of ssl=false.
  if ((ssl && typeof ssl !== 'string') || own.test(host)) return false;
  const modes = new URLSearchParams(url.replace(/^[^?]*/, '')).getAll('sslmode');
  return modes.length === 0 || modes.some((mode) => mode !== 'disable');
}
