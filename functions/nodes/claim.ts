import type { Query } from '../database/types.ts';
import type { Answer } from '../http/answer.ts';
import type { RoutedCall, Run } from './call.ts';
import { bestState } from './claims.ts';
import { isElsewhere, moving } from './errors.ts';
import { keyOfLease } from './placements.ts';
import type { Place, Router } from './router.ts';

/** The leases that a claim ends, in its statement. */
export const endsOfBody = `$7::jsonb -> 'ends'`;

/** Those of some indexes. The text of the body stays, because numbers of results keep their digits there. */
const withEnds =
  (place: Place, indexes: number[]): Query =>
  (text, values) => {
    const some = `pg_catalog.jsonb_path_query_array($7::jsonb, '$.ends[${indexes}]')`;
    return place.query(
      text.replace(endsOfBody, () => some),
      values,
    );
  };

const ENDED = ',"ended":';

/** An answer, and what it says of the leases that it ended. */
function splitEnded(body: string): { body: string; ended: unknown[] } {
  const at = body.lastIndexOf(ENDED);
  if (at < 0) return { body, ended: [] };
  return { body: `${body.slice(0, at)}}`, ended: JSON.parse(body.slice(at + ENDED.length, -1)) };
}

/** The answers of the nodes that found nothing, as one. */
function nothingFound(bodies: readonly string[]): string {
  const [first = '{}', ...others] = bodies;
  if (others.length === 0) return first;
  const parts = bodies.map((body) => JSON.parse(body));
  return JSON.stringify({ ...parts[0], ...bestState(parts) });
}

const hasFound = (body: string) => !body.startsWith('{"lease":null');

/**
 * Claims from the nodes that a queue has left, one after the other, then from its owner. A lease of another node is ended
 * there, before the claim.
 */
export async function claimFromQueue(
  router: Router,
  queue: string,
  call: RoutedCall,
  run: Run<RoutedCall>,
): Promise<Answer> {
  const ends = ((call.body.ends ?? []) as { lease: string }[]).map(({ lease }) =>
    keyOfLease(lease),
  );
  const ended: unknown[] = [];

  /** Runs the call on a node, and ends those of the leases there that have not been ended yet. */
  async function runAt(place: Place, own: number[], limit = call.body.limit): Promise<Answer> {
    const some = own.filter((n) => ended[n] === undefined);
    if (limit === 0 && some.length === 0) return undefined;
    const body = { ...call.body, limit, ends: some.length > 0 ? call.body.ends : undefined };
    const isPart = some.length > 0 && some.length < ends.length;
    const query = isPart ? withEnds(place, some) : place.query;
    const answer = await run(query, { ...call, body });
    if (!answer || some.length === 0) return answer;
    const parts = splitEnded(answer.body);
    for (const [n, index] of some.entries()) ended[index] = parts.ended[n];
    return { ...answer, body: parts.body };
  }

  async function claim(): Promise<Answer> {
    const places = (await router.places([queue])).get(queue) ?? [];
    const owners = await router.owners([...new Set(ends)]);
    const nodeOf = (key: string) => owners.get(key) ?? places[0]?.node;
    const endsAt = ({ node }: Place) =>
      [...ends.keys()].filter((n) => nodeOf(ends[n] ?? '') === node);
    if (ends.some((key) => nodeOf(key) !== places[0]?.node))
      for (const place of await router.all())
        if (place.node !== places[0]?.node) await runAt(place, endsAt(place), 0);
    const empty: string[] = [];
    for (const place of places) {
      const answer = await runAt(place, endsAt(place)).catch((error) => {
        if (place === places.at(-1) || !isElsewhere(error)) throw error;
        // The node has forgotten the queue that left it, so it has no task of it.
        return runAt(place, endsAt(place), 0);
      });
      if (answer && hasFound(answer.body)) return answer;
      if (answer) empty.push(answer.body);
    }
    return empty.length > 0 ? { body: nothingFound(empty) } : undefined;
  }

  const answer = await claim().catch((error) => {
    if (!isElsewhere(error)) throw error;
    router.forget([queue, ...ends]);
    return claim().catch((again) => {
      throw isElsewhere(again) ? moving() : again;
    });
  });
  if (!answer || ends.length === 0) return answer;
  return { ...answer, body: `${answer.body.slice(0, -1)}${ENDED}${JSON.stringify(ended)}}` };
}
