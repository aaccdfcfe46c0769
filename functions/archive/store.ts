/** Object storage: keys are paths, a range excludes its end, and a missing object is null. */
export type Store = {
  put(key: string, bytes: Uint8Array, sha256: string): Promise<void>;
  get(key: string): Promise<Uint8Array | null>;
  range(key: string, start: number, end: number): Promise<ArrayBuffer | null>;
  delete(key: string): Promise<void>;
};
