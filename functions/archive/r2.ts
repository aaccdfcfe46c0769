import type { Bucket } from '../env.ts';
import { STORE_MS } from '../timeouts.ts';
import type { Store } from './store.ts';

/** A binding has no signal to be told by. */
async function soon<T>(work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`R2 took over ${STORE_MS / 1000} s`)), STORE_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** A bucket that is bound to the Worker. */
export function r2(bucket: Bucket): Store {
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
