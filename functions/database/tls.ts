const localHosts = /^(localhost|.*\.localhost|127(\.\d+){3}|::1|\/.*)$/i;

/** Hint for a connection without TLS to another host. */
export const tlsHint =
  'add sslmode=verify-full to the URL; use sslmode=disable only on a private network';

/**
 * True if a pg client would send clear text to another host although its URL does not say sslmode=disable. pg derives
 * `host` and `ssl` from the URL, PGHOST and PGSSLMODE. It uses the last of repeated parameters, and ignores empty ones.
 */
export function lacksTls({ host, ssl }: { host: string; ssl: unknown }, url: string): boolean {
  // A string is a value that pg does not understand, such as ssl=false.
  if ((ssl && typeof ssl !== 'string') || localHosts.test(host)) return false;
  const modes = new URLSearchParams(url.replace(/^[^?]*/, '')).getAll('sslmode');
  return modes.length === 0 || modes.some((mode) => mode !== 'disable');
}
