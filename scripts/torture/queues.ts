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
  broken: { max_attempts: 2 },
  clock: {},
};

export const policy = {
  lease_seconds: 4,
  max_attempts: 5,
  max_lost: 1000,
  backoff_base_seconds: 0.2,
  backoff_cap_seconds: 2,
};

export const stages = ['first', 'second', 'third'];

export const limits = { one: 1, three: 3, yielding: 1 };

/** Each fires once a second; which was missed is made up for. */
export const schedules = {
  'each-second': { queue: 'clock', every_seconds: 1, missed: 'all', missed_limit: 1000 },
  'each-minute': { queue: 'clock', cron: '* * * * *', missed: 'all', missed_limit: 1000 },
};
