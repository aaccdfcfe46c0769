import type { Shape } from '../types.ts';

/** The queue of a call in a pgbench script: a random one, so that clients don't call the queues in the same order. */
export const drawn = ({ queues }: Shape) =>
  queues === 1
    ? { set: '', name: "'q'" }
    : { set: `\\set queue random(1, ${queues})\n`, name: "'q' || :queue::text" };
