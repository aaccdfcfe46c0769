import fc from 'fast-check';

/**
 * The options of one task in an enqueue step. The numbers in `parents` select among the tasks that exist at that
 * step.
 */
export type StepOptions = {
  payload: number;
  priority: number | null;
  delayed: boolean;
  tenant: string | null;
  max_attempts: number | null;
  expires: boolean;
  kind:
    | { is: 'plain' }
    | { is: 'concurrency_key'; concurrency_key: string }
    | { is: 'pipeline' }
    | {
        is: 'after';
        parents: number[];
        concurrency_key: string | null;
        on: 'cancel' | 'run' | 'wait';
      }
    | {
        is: 'key';
        key: string;
        policy: 'pending' | 'unfinished' | 'period';
        conflict: 'keep' | 'replace' | 'merge';
      };
};

/** An item of a call of save_steps(). `nap` and `look` wait for no time. */
export type SaveItem = {
  is: 'result' | 'error' | 'retry' | 'sleep' | 'nap' | 'event' | 'look';
  n: number;
  payload: number;
  keep: boolean;
};

export type Step =
  | { do: 'enqueue'; queue: number; tasks: StepOptions[] }
  | { do: 'claim'; queue: number; limit: number }
  | {
      do: 'complete' | 'release';
      lease: number;
      some: number[] | null;
      result: boolean;
      /** If set, the first named run spawns a task with this payload. */
      spawn: number | null;
      stranger: boolean;
    }
  | { do: 'fail'; lease: number; some: number[] | null; retry: 'fatal' | 'later' | 'now' | null }
  | { do: 'extend' | 'lose'; lease: number }
  | { do: 'save'; lease: number; task: number; items: SaveItem[] }
  | { do: 'signal'; event: number; payload: number }
  | { do: 'stale'; lease: number }
  | { do: 'cancel' | 'rerun'; some: number[] }
  | {
      do: 'change';
      some: number[];
      payload: number | null;
      priority: number | null;
      later: boolean | null;
    }
  | { do: 'expire'; some: number[] }
  | { do: 'time' | 'redrive' | 'pause' | 'resume'; queue: number }
  | { do: 'purge'; queue: number; state: 'ready' | 'waiting' | null }
  | { do: 'limit'; queue: number; concurrency_key: string; limit: number }
  | { do: 'segment' | 'maintenance_jobs' };

const number = fc.nat({ max: 999 });
const some = fc.array(number, { minLength: 1, maxLength: 2 });
const queue = fc.nat({ max: 1 });
const concurrency_key = fc.constantFrom('g', 'h');
const priority = fc.option(fc.constantFrom(0, 5, 9), { freq: 2 });

const kind: fc.Arbitrary<StepOptions['kind']> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ is: fc.constant('plain' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({ is: fc.constant('concurrency_key' as const), concurrency_key }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('pipeline' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      is: fc.constant('after' as const),
      parents: some,
      concurrency_key: fc.option(concurrency_key, { freq: 2 }),
      on: fc.constantFrom('cancel', 'run', 'wait'),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      is: fc.constant('key' as const),
      key: fc.constantFrom('k', 'l'),
      policy: fc.constantFrom('pending', 'unfinished', 'period'),
      conflict: fc.constantFrom('keep', 'replace', 'merge'),
    }),
  },
);

const seldom = fc.integer({ min: 0, max: 4 }).map((n) => n === 4);
const options: fc.Arbitrary<StepOptions> = fc.record({
  payload: number,
  priority,
  delayed: seldom,
  tenant: fc.constantFrom(null, 'a', 'b'),
  max_attempts: fc.constantFrom(null, null, 1, 2),
  expires: seldom,
  kind,
});

const event = fc.nat({ max: 2 });
const saveItem: fc.Arbitrary<SaveItem> = fc.record({
  is: fc.constantFrom('result', 'error', 'retry', 'sleep', 'nap', 'event', 'event', 'look'),
  n: event,
  payload: number,
  keep: seldom,
});

const done = <Do extends string>(...what: Do[]) => fc.constantFrom(...what);

const weighted: [number, fc.Arbitrary<unknown>][] = [
  [
    6,
    fc.record({
      do: done('enqueue'),
      queue,
      tasks: fc.array(options, { minLength: 1, maxLength: 4, size: 'max' }),
    }),
  ],
  // In three of four steps this number selects a queue with ready tasks.
  [10, fc.record({ do: done('claim'), queue: number, limit: fc.integer({ min: 1, max: 4 }) })],
  [
    5,
    fc.record({
      do: done('complete', 'complete', 'release'),
      lease: number,
      some: fc.option(some, { freq: 2 }),
      result: fc.boolean(),
      spawn: fc.option(number, { freq: 3 }),
      stranger: seldom,
    }),
  ],
  [
    5,
    fc.record({
      do: done('fail'),
      lease: number,
      some: fc.option(some, { freq: 2 }),
      retry: fc.constantFrom('fatal', 'later', 'now', 'now', null),
    }),
  ],
  [4, fc.record({ do: done('extend', 'lose', 'lose', 'stale'), lease: number })],
  [2, fc.record({ do: done('cancel', 'rerun'), some })],
  [
    7,
    fc.record({
      do: done('save'),
      lease: number,
      task: number,
      items: fc.array(saveItem, { minLength: 1, maxLength: 3 }),
    }),
  ],
  [2, fc.record({ do: done('signal'), event, payload: number })],
  [
    3,
    fc.record({
      do: done('change'),
      some,
      payload: fc.option(number, { freq: 2 }),
      priority,
      later: fc.constantFrom(null, null, true, false),
    }),
  ],
  [1, fc.record({ do: done('expire'), some })],
  [3, fc.record({ do: done('time', 'time', 'time', 'redrive'), queue })],
  [1, fc.record({ do: done('pause', 'resume', 'resume'), queue })],
  [0.4, fc.record({ do: done('purge'), queue, state: fc.constantFrom(null, 'ready', 'waiting') })],
  [
    1,
    fc.record({ do: done('limit'), queue, concurrency_key, limit: fc.integer({ min: 1, max: 3 }) }),
  ],
  [0.6, fc.record({ do: done('segment', 'maintenance_jobs') })],
];

export const steps = fc.oneof(
  ...weighted.map(([weight, arbitrary]) => ({ weight: 10 * weight, arbitrary })),
) as fc.Arbitrary<Step>;
