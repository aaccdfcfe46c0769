import type { Consumer } from './define.ts';

/**
 * What this Worker works on. Each consumer has a file here, exported by defineConsumer(), and stands in this list:
 * `[mail, reports]`. Without any the Worker is the HTTP door alone.
 */
export const consumers: readonly Consumer[] = [];
