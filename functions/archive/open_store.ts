import { misconfigured } from '../database/errors.ts';
import type { Bindings } from '../env.ts';
import { r2 } from './r2.ts';
import { s3 } from './s3.ts';
import type { Store } from './store.ts';

const settings = [
  'TOCK_ARCHIVE_URL',
  'TOCK_ARCHIVE_KEY_ID',
  'TOCK_ARCHIVE_SECRET',
] as const satisfies readonly (keyof Bindings)[];

/** The store that the bindings configure; null if they configure none. */
export function openStore(env: Bindings): Store | null {
  if (env.ARCHIVE) return r2(env.ARCHIVE);
  const missing = settings.filter((name) => !env[name]);
  if (missing.length === settings.length) return null;
  const [url, id, secret] = settings.map((name) => env[name] ?? '') as [string, string, string];
  if (missing.length > 0) {
    throw misconfigured(
      `The archive's store has no ${missing.join(' and no ')}.`,
      `set them with wrangler secret put, or remove all of ${settings.join(', ')}`,
    );
  }
  return s3(url, id, secret, env.TOCK_ARCHIVE_REGION || 'auto');
}
