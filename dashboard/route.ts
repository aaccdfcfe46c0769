import { useLayoutEffect, useState } from 'preact/hooks';

/** The address within the page: `#/queues/mail?range=6h` is [queues, mail] with range. */
export type Address = { path: string[]; query: URLSearchParams };

export function parseHash(hash: string): Address {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const decoded = path.split('/').filter(Boolean).map(decode);
  // Links to the former page of leases still work.
  if (decoded[0] === 'leases') decoded[0] = 'workers';
  return { path: decoded, query: new URLSearchParams(query) };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The link to an address. */
export function href(path: string[], query: Record<string, string | undefined> = {}): string {
  const entries = Object.entries(query).filter((entry): entry is [string, string] => !!entry[1]);
  const search = new URLSearchParams(entries).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${search ? `?${search}` : ''}`;
}

export function useAddress(): Address {
  const [hash, setHash] = useState(location.hash);
  useLayoutEffect(() => {
    const onHashChange = () => setHash(location.hash);
    addEventListener('hashchange', onHashChange);
    return () => removeEventListener('hashchange', onHashChange);
  }, []);
  return parseHash(hash);
}
