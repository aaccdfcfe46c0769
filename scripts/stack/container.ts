import type { Host } from './host.ts';
import type { HostOptions } from './source.ts';

export async function container(_options: HostOptions): Promise<Host> {
  throw new Error('not yet');
}
