import type { Answer, Driver } from './driver.ts';

type Attempt = Driver['attempt'];

/** One call in so many is falsified: enough to be found within seconds, and most work is as it should be. */
const share = 20;

/** Faults of the driver itself, which the judge has to find: proof that it would find Tock's. */
const plants: Record<string, (attempt: Attempt, hit: () => boolean) => Attempt> = {
  /** A completion is acknowledged and was not sent. */
  'lost completion': (attempt, hit) => async (verb, args, transaction) => {
    if (verb !== 'complete' || args.results || !hit()) return attempt(verb, args, transaction);
    return { status: 200, body: { completed: 1, refused: [] } };
  },
  /** An enqueue is acknowledged and was not sent. */
  'lost enqueue': (attempt, hit) => async (verb, args, transaction) => {
    if (verb !== 'enqueue' || args.queue !== 'plain' || !hit())
      return attempt(verb, args, transaction);
    const tasks = args.tasks as unknown[];
    return { status: 200, body: { ids: tasks.map((_, at) => String(2 ** 40 + at)) } };
  },
  /** A claim gives what an earlier one gave, under another lease. */
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
  /** An enqueue is sent twice, each time as another request. */
  'doubled enqueue': (attempt, hit) => async (verb, args, transaction) => {
    if (verb === 'enqueue' && args.queue === 'plain' && hit())
      await attempt(verb, { ...args, request_id: crypto.randomUUID() });
    return attempt(verb, args, transaction);
  },
};

export const plantNames = Object.keys(plants);

export function planted(driver: Driver, name: string): Driver {
  const plant = plants[name];
  if (!plant) throw new Error(`There is no plant ${name}: ${plantNames.join(', ')}.`);
  let calls = 0;
  // Each plant its own call, or one could undo another.
  const own = 1 + plantNames.indexOf(name);
  return { ...driver, attempt: plant(driver.attempt, () => ++calls % share === own) };
}
