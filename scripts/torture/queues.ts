/** What is worked on, and how: tasks that ask for nothing, and for each of what there is to ask for. */
export const queues = {
  plain: 'plain',
  gated: 'gated',
  unique: 'unique',
  family: 'family',
  stages: ['stage-1', 'stage-2', 'stage-3'],
  ticks: 'ticks',
} as const;

export const every = [
  queues.plain,
  queues.gated,
  queues.unique,
  queues.family,
  ...queues.stages,
  queues.ticks,
];

/** Nobody dies but by what a worker says: a task may lose as many workers as are killed. */
export const policy = {
  lease_seconds: 5,
  max_attempts: 1000,
  max_lost: 1000,
  backoff_base_seconds: 0.2,
  backoff_cap_seconds: 2,
};

export const gates: Record<string, number> = { serial: 1, one: 1, two: 2, three: 3 };
