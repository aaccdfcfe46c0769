import type { Answer } from '../http/answer.ts';
import type { RoutedCall, Run } from './call.ts';
import { fromNode, isDown, isElsewhere, moving } from './errors.ts';
import type { Place, Router } from './router.ts';

type Queue = string | { queue: string; weight: number };

const nameOf = (queue: Queue) => (typeof queue === 'string' ? queue : queue.queue);
const weightOf = (queue: Queue) => (typeof queue === 'string' ? 1 : queue.weight);

/** From the best to the worst, as in claim_state(). */
const states = ['found', 'passing', 'busy', 'empty', 'limited', 'paused'];

type State = { state: string; retry_after_seconds: number };

/** The state of the queues of several nodes. */
export function bestState(all: readonly State[]): State {
  const rank = ({ state }: State) => states.indexOf(state);
  const [best] = all.toSorted((a, b) => rank(a) - rank(b));
  const retry_after_seconds = Math.min(...all.map((one) => one.retry_after_seconds));
  return { state: best?.state ?? 'empty', retry_after_seconds };
}

/** A number from 0 to 1, the same for each repeat of a call with a request id. */
async function draw(call: RoutedCall, name: string): Promise<number> {
  if (call.requestId === null) return Math.random();
  const text = new TextEncoder().encode(JSON.stringify([call.requestId, name]));
  const digest = new DataView(await crypto.subtle.digest('SHA-256', text));
  return digest.getUint32(0) / 2 ** 32;
}

/** A claim from some queues of one node; `isLeft` if they have left it. */
type Step = { place: Place; isLeft: boolean; keys: string[] };

/** Adds a queue to the claim from its place; a place that comes again is a step of its own. */
function add(steps: Step[], place: Place, isLeft: boolean, key: string): void {
  const last = steps.at(-1);
  if (last && last.place.node === place.node && last.isLeft === isLeft) last.keys.push(key);
  else steps.push({ place, isLeft, keys: [key] });
}

/** The steps of a claim from queues in their order. */
function inOrder(places: Map<string, Place[]>): Step[] {
  const steps: Step[] = [];
  for (const [key, all] of places)
    for (const place of all) add(steps, place, place !== all.at(-1), key);
  return steps;
}

/**
 * The steps of a claim by weight: one for the queues of each node, in a random order by the sums of their weights. So the
 * first queue of a call is drawn by weight among all of them, as in one database.
 */
async function byWeight(
  places: Map<string, Place[]>,
  queues: Queue[],
  call: RoutedCall,
): Promise<Step[]> {
  const groups = new Map<number | null, Step>();
  for (const [key, all] of places) {
    const place = all.at(-1) as Place;
    const group = groups.get(place.node) ?? { place, isLeft: false, keys: [] };
    groups.set(place.node, group);
    group.keys.push(key);
  }
  const drawn = [...groups.values()].map(async (group) => {
    const weight = queues
      .filter((queue) => group.keys.includes(nameOf(queue)))
      .reduce((sum, queue) => sum + weightOf(queue), 0);
    return { group, at: -Math.log(1 - (await draw(call, group.keys.join()))) / weight };
  });
  const steps: Step[] = [];
  for (const { group } of (await Promise.all(drawn)).sort((a, b) => a.at - b.at)) {
    for (const key of group.keys)
      for (const place of places.get(key)?.slice(0, -1) ?? []) add(steps, place, true, key);
    steps.push(group);
  }
  return steps;
}

type Claimed = State & { leases: { tasks: unknown[] }[] };

/** The leases of an answer as text, because numbers of payloads keep their digits there. */
const leasesIn = (body: string) => body.slice('{"leases":['.length, body.lastIndexOf('],"state":'));

/** Claims from the queues of one node after those of another, until the limit is used up. */
export async function claimFromNodes(
  router: Router,
  call: RoutedCall,
  run: Run<RoutedCall>,
): Promise<Answer> {
  const bodies: string[] = [];
  const found: Claimed[] = [];
  const missing = new Set<number>();
  let failure: unknown;
  let left = call.body.limit as number;

  async function claim(queues: Queue[], again: boolean): Promise<void> {
    const places = await router.places(queues.map(nameOf));
    const isOrdered = queues.every((queue) => typeof queue === 'string');
    const steps = isOrdered ? inOrder(places) : await byWeight(places, queues, call);
    for (const { place, isLeft, keys } of steps) {
      const own = queues.filter((queue) => keys.includes(nameOf(queue)));
      try {
        const answer = await run(place.query, {
          ...call,
          body: { ...call.body, queues: own, limit: left },
        });
        if (answer) {
          const claimed = JSON.parse(answer.body) as Claimed;
          bodies.push(answer.body);
          found.push(claimed);
          left -= claimed.leases.reduce((sum, { tasks }) => sum + tasks.length, 0);
        }
      } catch (error) {
        if (isElsewhere(error)) {
          // The node has forgotten the queues that left it, so it has no task of them.
          if (isLeft) continue;
          if (again) throw moving();
          router.forget(keys);
          await claim(own, true);
        } else if (isDown(error)) {
          failure ??= fromNode(error, place.node);
          missing.add(place.node ?? -1);
          console.error(`node ${place.node}: ${(error as Error).message}`);
        } else throw error;
      }
      if (left <= 0) break;
    }
  }

  await claim(call.body.queues as Queue[], false);
  const [first] = bodies;
  if (first === undefined && failure) throw failure;
  if (first === undefined) return undefined;
  if (bodies.length === 1 && missing.size === 0) return { body: first };
  const leases = bodies.map(leasesIn).filter((text) => text !== '');
  const rest = { ...bestState(found), ...(missing.size > 0 && { missing_nodes: [...missing] }) };
  const body = `{"leases":[${leases.join()}],${JSON.stringify(rest).slice(1)}`;
  return { body, missing: [...missing] };
}
