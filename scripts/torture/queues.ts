/** The queues of the torture, each for a kind of task; settings of their own beside those of all. */
export const queues: Record<string, Record<string, unknown>> = {
  plain: {},
  one: { gate_limit: 1 },
  three: { gate_limit: 3 },
  yielding: { gate_limit: 1, gate_retry: 'yield' },
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
};

export const stages = ['first', 'second', 'third'];

/** How many may be inside one gate of these queues. */
export const limits: Record<string, number> = { one: 1, three: 3, yielding: 1 };

/** How many may run of these queues at all. */
export const caps: Record<string, number> = { capped: 3 };

/** How many may start of these queues: at once, and in each second. */
export const rates: Record<string, { burst: number; each: number }> = {
  paced: { burst: 2, each: 8 },
};

/** Each fires once a second; which was missed is made up for. */
export const schedules = {
  'each-second': { queue: 'clock', every_seconds: 1, missed: 'all', missed_limit: 1000 },
  'each-minute': { queue: 'clock', cron: '* * * * *', missed: 'all', missed_limit: 1000 },
};
