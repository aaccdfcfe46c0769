import type { Bucket } from '../../functions/archive/store.ts';

type Fault = 'refuse' | 'cut' | 'other' | 'swallow' | 'lost';

/** An R2 bucket in memory, whose next put goes wrong as it is told. */
export class Memory implements Bucket {
  readonly objects = new Map<string, Uint8Array>();
  fault: Fault | null = null;
  /** Ranges and whole objects that were read. */
  reads: string[] = [];

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const { fault } = this;
    this.fault = null;
    if (fault === 'refuse') throw new Error('no space is left');
    if (fault === 'swallow') return;
    const kept = fault === 'cut' ? bytes.slice(0, bytes.length / 2) : bytes.slice();
    // In the middle of what is compressed.
    if (fault === 'other') kept.fill((kept[200] ?? 0) ^ 1, 200, 201);
    this.objects.set(key, kept);
    if (fault === 'lost') throw new Error('the connection broke');
  }

  async get(key: string, options?: { range: { offset: number; length: number } }) {
    const found = this.objects.get(key);
    if (!found) return null;
    const { offset = 0, length = found.length } = options?.range ?? {};
    this.reads.push(`${key} ${offset}+${length}`);
    return { arrayBuffer: async () => found.slice(offset, offset + length).buffer as ArrayBuffer };
  }

  async delete(key: string): Promise<void> {
    this.objects.delete(key);
  }
}
