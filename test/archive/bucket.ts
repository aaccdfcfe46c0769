import type { Bucket } from '../../functions/env.ts';

type Fault = 'refuse' | 'cut' | 'other' | 'swallow' | 'lost' | 'late';

/** An R2 bucket in memory. `fault` says how its next put fails. */
export class MemoryBucket implements Bucket {
  readonly objects = new Map<string, Uint8Array>();
  fault: Fault | null = null;
  /** Objects whose put timed out. They are stored when land() is called. */
  readonly #late = new Map<string, Uint8Array>();
  /** Objects that refuse reads and deletes. */
  readonly locked = new Set<string>();
  /** The ranges and objects that were read. */
  reads: string[] = [];

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const { fault } = this;
    this.fault = null;
    if (fault === 'refuse') throw new Error('no space is left');
    if (fault === 'swallow') return;
    if (fault === 'late') {
      this.#late.set(key, bytes.slice());
      throw new Error('R2 took over 30 s');
    }
    const kept = fault === 'cut' ? bytes.slice(0, bytes.length / 2) : bytes.slice();
    // This byte lies within compressed data.
    if (fault === 'other') kept.fill((kept[200] ?? 0) ^ 1, 200, 201);
    this.objects.set(key, kept);
    if (fault === 'lost') throw new Error('the connection broke');
  }

  land(): void {
    for (const [key, bytes] of this.#late) this.objects.set(key, bytes);
    this.#late.clear();
  }

  #open(key: string): void {
    if (this.locked.has(key)) throw new Error(`${key} is locked`);
  }

  async get(key: string, options?: { range: { offset: number; length: number } }) {
    this.#open(key);
    const object = this.objects.get(key);
    if (!object) return null;
    const { offset = 0, length = object.length } = options?.range ?? {};
    this.reads.push(`${key} ${offset}+${length}`);
    return { arrayBuffer: async () => object.slice(offset, offset + length).buffer as ArrayBuffer };
  }

  async delete(key: string): Promise<void> {
    this.#open(key);
    this.objects.delete(key);
  }
}
