import { hostname } from 'node:os';
import { createTock as createAnyTock, type Tock, type TockOptions } from './tock.ts';
import type { AnyQueues } from './types.ts';

// In Node, Bun and Deno the main entry of the package is this file.
export * from './index.ts';

/**
 * The host and the process id, such as `web-3:4711`. Undefined where Deno runs without `--allow-sys=hostname`. A worker's
 * name may have 200 characters.
 */
export function processName(pid = process.pid): string | undefined {
  try {
    return `${hostname().slice(0, 180)}:${pid}`;
  } catch {
    return undefined;
  }
}

/** createTock() whose workers have the name of this process, if they give none. */
export const createTock = <Q = AnyQueues>(options: TockOptions): Tock<Q> =>
  createAnyTock({ worker: processName(), ...options });

/** A signal that aborts on SIGTERM or SIGINT. A second SIGTERM or SIGINT ends the process. For Node, Bun and Deno. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const names = ['SIGTERM', 'SIGINT'] as const;
  const onSignal = () => {
    for (const name of names) process.off(name, onSignal);
    controller.abort();
  };
  for (const name of names) process.on(name, onSignal);
  return controller.signal;
}
