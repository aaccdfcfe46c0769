import type { Answer } from '../http/answer.ts';
import type { RoutedCall, Run } from './call.ts';
import { fromNode, isDown, isElsewhere, moving } from './errors.ts';
import type { Group, Router } from './router.ts';

type Queue = string | { queue: string; weight: number };

const nameOf = (queue: Queue) => (typeof queue === 'string' ? queue : queue.queue);
const weightOf = (queue: Queue) => (typeof queue === 'string' ? 1 : queue.weight);

/** From the best to the worst, as in claim_state(). */
const states = ['found', 'passing', 'busy', 'empty', 'limited', 'paused'];

/** A number from 0 to 1, the same for each repeat of a call with a request id. */
async function draw(call: RoutedCall, name: string): Promise<number> {
  if (call.requestId === null) return Math.random();
  const text = new TextEncoder().encode(JSON.stringify([call.requestId, name]));
  const digest = new DataView(await crypto.subtle.digest('SHA-256', text));
  return digest.getUint32(0) / 2 ** 32;
}

/**
 * The nodes in the order in which the call claims from them: that of the queues, or a random one by weight. The first
 * queue of a call is then drawn by weight among all of them, as in one database.
 */
async function inOrder(groups: Group[], queues: Queue[], call: RoutedCall): Promise<Group[]> {
  if (queues.every((queue) => typeof queue === 'string')) return groups;
  const drawn = groups.map(async (group) => {
    const weight = queues
      .filter((queue) => group.keys.includes(nameOf(queue)))
      .reduce((sum, queue) => sum + weightOf(queue), 0);
    return { group, at: -Math.log(1 - (await draw(call, group.keys.join()))) / weight };
  });
  return (await Promise.all(drawn)).sort((a, b) => a.at - b.at).map(({ group }) => group);
}

/** Consecutive queues of one node; a later queue of a node that comes again is a group of its own. */
function consecutive(groups: Group[], queues: Queue[]): Group[] {
  const runs: Group[] = [];
  for (const key of queues.map(nameOf)) {
    const owner = groups.find(({ keys }) => keys.includes(key));
    const last = runs.at(-1);
    if (last && last.place === owner?.place) last.keys.push(key);
    else if (owner) runs.push({ place: owner.place, keys: [key] });
  }
  return runs;
}

type Claimed = { leases: { tasks: unknown[] }[]; state: string; retry_after_seconds: number };

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
    const groups = await router.split(queues.map(nameOf));
    const isOrdered = queues.every((queue) => typeof queue === 'string');
    const ordered = isOrdered ? consecutive(groups, queues) : await inOrder(groups, queues, call);
    for (const { place, keys } of ordered) {
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
  const rank = ({ state }: Claimed) => states.indexOf(state);
  const [best] = found.toSorted((a, b) => rank(a) - rank(b));
  const rest = {
    state: best?.state,
    retry_after_seconds: Math.min(...found.map((claimed) => claimed.retry_after_seconds)),
    ...(missing.size > 0 && { missing_nodes: [...missing] }),
  };
  const body = `{"leases":[${leases.join()}],${JSON.stringify(rest).slice(1)}`;
  return { body, missing: [...missing] };
}
