import type { Shape } from '../types.ts';

/** The queue that a pgbench script calls: a random one, so that its clients do not run in lockstep. */
export const drawn = ({ queues }: Shape) =>
  queues === 1
    ? { set: '', name: "'q'" }
    : { set: `\\set queue random(1, ${queues})\n`, name: "'q' || :queue::text" };
