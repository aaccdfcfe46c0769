import type { Answer, Driver } from './driver.ts';
import type { Args } from './spelled.ts';

type Attempt = Driver['attempt'];

/** One call in this many is falsified, so that the checker finds it within seconds and most calls stay correct. */
const share = 20;

/** The answer that these steps are done. */
const allDone = (steps: Args[]): Answer => ({
  status: 200,
  body: {
    steps: steps.map(({ name, result = null }) => ({
      name,
      state: 'done',
      result,
      cancel_requested: false,
    })),
  },
});

/** Faults of the driver. If the checker finds them, it would also find such faults of Tock. */
const plants: Record<string, (attempt: Attempt, hit: () => boolean) => Attempt> = {
  /** A completion is acknowledged but not sent. */
  'lost completion': (attempt, hit) => async (verb, args, transaction) => {
    if (verb !== 'complete' || args.results || !hit()) return attempt(verb, args, transaction);
    return { status: 200, body: { completed: 1, refused: [] } };
  },
  /** An enqueue is acknowledged but not sent. */
  'lost enqueue': (attempt, hit) => async (verb, args, transaction) => {
    if (verb !== 'enqueue' || args.queue !== 'plain' || !hit())
      return attempt(verb, args, transaction);
    const tasks = args.tasks as unknown[];
    return { status: 200, body: { ids: tasks.map((_, index) => String(2 ** 40 + index)) } };
  },
  /** A claim returns the runs of an earlier one, under another lease. */
  'doubled run': (attempt, hit) => {
    let earlier: Answer | null = null;
    return async (verb, args, transaction) => {
      const answer = await attempt(verb, args, transaction);
      if (verb !== 'claim' || answer?.status !== 200 || !answer.body.lease) return answer;
      if (earlier && hit()) {
        const { tasks } = earlier.body;
        return { ...answer, body: { ...answer.body, tasks } };
      }
      earlier = answer;
      return answer;
    };
  },
  /** An enqueue is sent twice, as two requests. */
  'doubled enqueue': (attempt, hit) => async (verb, args, transaction) => {
    if (verb === 'enqueue' && args.queue === 'plain' && hit())
      await attempt(verb, { ...args, request_id: crypto.randomUUID() });
    return attempt(verb, args, transaction);
  },
  /** A checkpoint is acknowledged but not saved. */
  'lost checkpoint': (attempt, hit) => async (verb, args, transaction) => {
    const isResult = (step: object) => 'result' in step;
    if (verb !== 'save steps' || !args.steps.every(isResult) || !hit())
      return attempt(verb, args, transaction);
    return allDone(args.steps);
  },
  /** A wait for a child is over at once, and the child is not enqueued. */
  'lost child': (attempt, hit) => async (verb, args, transaction) => {
    const isInvoke = (step: object) => 'invoke' in step;
    if (verb !== 'save steps' || !args.steps.every(isInvoke) || !hit())
      return attempt(verb, args, transaction);
    return allDone(args.steps);
  },
  /** A signal is acknowledged but not sent. The last signal of each event gets through, so that all tasks end. */
  'lost signal': (attempt, hit) => async (verb, args, transaction) => {
    if (verb !== 'signal' || args.last || !hit()) return attempt(verb, args, transaction);
    return { status: 200, body: { accepted: true, woken: 0 } };
  },
};

export const plantNames = Object.keys(plants);

export function planted(driver: Driver, name: string): Driver {
  const plant = plants[name];
  if (!plant)
    throw new Error(`There is no planted fault ${name}: use one of ${plantNames.join(', ')}.`);
  let calls = 0;
  // Early, because on a busy machine a worker makes few calls. The two faults of an enqueue falsify different calls,
  // because one could hide the other.
  const offset = name === 'doubled enqueue' ? 2 : 1;
  return { ...driver, attempt: plant(driver.attempt, () => ++calls % share === offset) };
}
