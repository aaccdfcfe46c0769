import type { Shape } from '../types.ts';

/** Which queue a pgbench script calls: any of several, so that its clients don't go in step. */
export const drawn = ({ queues }: Shape) =>
  queues === 1
    ? { set: '', name: "'q'" }
    : { set: `\\set queue random(1, ${queues})\n`, name: "'q' || :queue::text" };
