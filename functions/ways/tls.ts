const own = /^(localhost|.*\.localhost|127(\.\d+){3}|\[::1\]|)$/i;

/** What to do where a URL leads to another host and doesn't say whether by TLS. */
export const sayTls =
  'add ?sslmode=verify-full to it; sslmode=disable only where the network between is private';

/** Whether a database's URL leads to another host without a word of TLS: a client would send all in the clear. */
export function lacksTls(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { hostname, searchParams } = new URL(url);
  const host = searchParams.get('host') ?? decodeURIComponent(hostname);
  const isOwn = own.test(host) || host.startsWith('/');
  return !isOwn && !searchParams.has('sslmode') && !searchParams.has('ssl');
}
