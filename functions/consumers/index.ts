import type { Consumer } from './define.ts';

/**
 * The consumers of this Worker. Each one is a file in this folder that exports defineConsumer(), and is listed here:
 * `[mail, reports]`. Without consumers the Worker serves the HTTP API only.
 */
export const consumers: readonly Consumer[] = [];
