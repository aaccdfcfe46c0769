import type { Connect } from '../database/types.ts';
import type { Bindings } from '../env.ts';

/** A key that was known so lately is not asked for again. Every call's own statement judges the key, revoked ones too. */
const KNOWN_MS = 10_000;
const MOST_KEPT = 1000;

/** Digests of known keys, and until when they are taken as such; the first to end comes first. */
const known = new WeakMap<Connect, Map<string, number>>();

async function digest(key: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(key));
  return String.fromCharCode(...new Uint8Array(bytes));
}

/** Refuses a key that is not known, before anything of a large body is read; throws TK401 then. */
export async function requireKnownKey(connect: Connect, env: Bindings, key: string): Promise<void> {
  const kept = known.get(connect) ?? new Map<string, number>();
  known.set(connect, kept);
  const now = performance.now();
  for (const [one, until] of kept) {
    if (until > now && kept.size < MOST_KEPT) break;
    kept.delete(one);
  }
  const one = await digest(`${env.DATABASE_URL ?? ''} ${key}`);
  if (kept.has(one)) return;
  await connect(env, (query) => query('select tock.known_key(p_key => $1) as known', [key]));
  kept.delete(one);
  kept.set(one, performance.now() + KNOWN_MS);
}
