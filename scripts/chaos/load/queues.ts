import type { Bounds } from '../judge/deliveries.ts';

/** The queues of the load, each for a kind of task; settings of their own beside those of all. */
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
};

export const lease_seconds = 3;

export const policy = {
  lease_seconds,
  max_attempts: 5,
  max_lost: 1000,
  backoff_base_seconds: 0.2,
  backoff_cap_seconds: 2,
  // observe.ts lets history go once it has seen it, however long that takes.
  retention_seconds: 315360000,
};

export const stages = ['first', 'second', 'third'];

/** What the queues allow: how many run in one concurrency key, how many run at all, and how many start at once and in each second. */
export const bounds: Bounds = {
  limits: { one: 1, three: 3, yielding: 1 },
  caps: { capped: 3 },
  rates: { paced: { burst: 2, each: 8 } },
};

/** A fire that was missed is made up for. */
export const schedules = {
  'each-second': { queue: 'clock', every_seconds: 1, missed: 'all', missed_limit: 1000 },
  'each-minute': { queue: 'clock', cron: '* * * * *', missed: 'all', missed_limit: 1000 },
};

/** The schedules of a fixed distance: no fire may be missing between two others. */
export const everyMs: Record<string, number> = { 'each-second': 1000 };
