import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';
import { connectToAny } from '../nodes/reach.ts';

/** For this time a known key is not checked again here; each call's statement checks it, so revocation works. */
const CACHE_MS = 10_000;
const MAX_CACHED = 1000;

/** Digests of known keys with their expiry; the earliest comes first. */
const knownKeys = new WeakMap<Connect, Map<string, number>>();

async function digest(key: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
  return String.fromCharCode(...new Uint8Array(bytes));
}

/** Refuses an unknown key with TK401, before a large body is read. */
export async function requireKnownKey(connect: Connect, env: Bindings, key: string): Promise<void> {
  const cache = knownKeys.get(connect) ?? new Map<string, number>();
  knownKeys.set(connect, cache);
  const now = performance.now();
  for (const [cached, until] of cache) {
    if (until > now && cache.size < MAX_CACHED) break;
    cache.delete(cached);
  }
  const hash = await digest(`${env.TOCK_NODES ?? ''} ${env.DATABASE_URL ?? ''} ${key}`);
  if (cache.has(hash)) return;
  await connectToAny(connect, env, (query) =>
    query('select tock.known_key(p_key => $1) as known', [key]),
  );
  cache.delete(hash);
  cache.set(hash, performance.now() + CACHE_MS);
}
