import { STORE_MS } from '../patience.ts';
import type { Bindings } from '../query.ts';
import { misconfigured } from '../ways/misconfigured.ts';
import { s3 } from './s3.ts';

/** Object storage: keys are paths, a range's end is not included, what isn't there is null. */
export type Store = {
  put(key: string, bytes: Uint8Array, sha256: string): Promise<void>;
  get(key: string): Promise<Uint8Array | null>;
  range(key: string, start: number, end: number): Promise<ArrayBuffer | null>;
  delete(key: string): Promise<void>;
};

type R2Object = { arrayBuffer(): Promise<ArrayBuffer> };

/** What of an R2 bucket is needed. */
export type Bucket = {
  put(key: string, bytes: Uint8Array, options: { sha256: string }): Promise<unknown>;
  get(
    key: string,
    options?: { range: { offset: number; length: number } },
  ): Promise<R2Object | null>;
  delete(key: string): Promise<void>;
};

/** A binding has no signal to be told by. */
async function soon<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`R2 took over ${STORE_MS / 1000} s`)), STORE_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

function r2(bucket: Bucket): Store {
  const read = (key: string, range?: { offset: number; length: number }) =>
    soon(bucket.get(key, range && { range }).then((found) => found?.arrayBuffer() ?? null));
  return {
    async put(key, bytes, sha256) {
      await soon(bucket.put(key, bytes, { sha256 }));
    },
    async get(key) {
      const found = await read(key);
      return found && new Uint8Array(found);
    },
    range: (key, start, end) => read(key, { offset: start, length: end - start }),
    delete: (key) => soon(bucket.delete(key)),
  };
}

const settings = [
  'TOCK_ARCHIVE_URL',
  'TOCK_ARCHIVE_KEY_ID',
  'TOCK_ARCHIVE_SECRET',
] as const satisfies readonly (keyof Bindings)[];

/** The store that the bindings name; null where they name none. */
export function storeOf(env: Bindings): Store | null {
  if (env.ARCHIVE) return r2(env.ARCHIVE);
  const missing = settings.filter((name) => !env[name]);
  if (missing.length === settings.length) return null;
  const [url, id, secret] = settings.map((name) => env[name] ?? '') as [string, string, string];
  if (missing.length > 0) {
    throw misconfigured(
      `The archive's store has no ${missing.join(' and no ')}.`,
      `set them with wrangler secret put, or none of ${settings.join(', ')}`,
    );
  }
  return s3(url, id, secret, env.TOCK_ARCHIVE_REGION || 'auto');
}
