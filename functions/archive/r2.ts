import type { Bucket } from '../env.ts';
import { STORE_MS } from '../timeouts.ts';
import type { Store } from './store.ts';

/** A binding accepts no AbortSignal. */
async function withTimeout<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`R2 did not answer within ${STORE_MS / 1000} s`)),
      STORE_MS,
    );
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** A bucket that is bound to the Worker. */
export function r2(bucket: Bucket): Store {
  const read = (key: string, range?: { offset: number; length: number }) =>
    withTimeout(
      bucket.get(key, range && { range }).then((object) => object?.arrayBuffer() ?? null),
    );
  return {
    async put(key, bytes, sha256) {
      await withTimeout(bucket.put(key, bytes, { sha256 }));
    },
    async get(key) {
      const object = await read(key);
      return object && new Uint8Array(object);
    },
    range: (key, start, end) => read(key, { offset: start, length: end - start }),
    delete: (key) => withTimeout(bucket.delete(key)),
  };
}
