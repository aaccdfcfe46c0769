import type { Bounds } from '../checker/deliveries.ts';

/** The queues of the load, one for each kind of task, with their settings in addition to the common ones. */
export const queues: Record<string, Record<string, unknown>> = {
  plain: {},
  one: { concurrency_limit: 1 },
  three: { concurrency_limit: 3 },
  yielding: { concurrency_limit: 1, concurrency_retry: 'yield' },
  keyed: {},
  family: {},
  first: {},
  second: {},
  third: {},
  spawning: {},
  brief: {},
  capped: { max_running: 3 },
  paced: { rate_limit: 8, rate_seconds: 1, rate_burst: 2 },
  newest: {},
  moved: {},
  purged: {},
  pushed: {},
  broken: { max_attempts: 2 },
  clock: {},
  steps: {},
};

export const lease_seconds = 3;

export const policy = {
  lease_seconds,
  max_attempts: 5,
  max_lost: 1000,
  backoff_base_seconds: 0.2,
  backoff_cap_seconds: 2,
  // Only observe.ts drops history, after it has seen all of it, so the retention is ten years.
  retention_seconds: 315360000,
};

export const stages = ['first', 'second', 'third'];

/**
 * The limits of the queues. `limits`: running tasks of a concurrency key. `caps`: running tasks of a queue. `rates`:
 * tasks that start at once, and in each second.
 */
export const bounds: Bounds = {
  limits: { one: 1, three: 3, yielding: 1 },
  caps: { capped: 3 },
  rates: { paced: { burst: 2, each: 8 } },
};

/** The schedules of the load. A missed fire happens later. */
export const schedules = {
  'each-second': { queue: 'clock', every_seconds: 1, missed: 'all', missed_limit: 1000 },
  'each-minute': { queue: 'clock', cron: '* * * * *', missed: 'all', missed_limit: 1000 },
};

/** Schedules with a fixed interval: no fire may be missing between two others. */
export const everyMs: Record<string, number> = { 'each-second': 1000 };
