import type { Answer } from '../http/answer.ts';
import { refusal, retryAfterHeader } from '../http/problem.ts';
import type { Merge, Part, RoutedCall, Run } from './call.ts';
import { isDown } from './errors.ts';
import type { PartOf } from './pages.ts';
import type { Place, Router } from './router.ts';

type NumberedPlace = Place & { node: number };

const log = (node: number, error: unknown) =>
  console.error(`node ${node}: ${(error as { code?: string }).code} ${(error as Error).message}`);

/** Asks all nodes at once, or these. A node that is down is missing in the answer; if all are, the call fails. */
export async function fromAll(
  router: Router,
  { merge, part = (call) => call }: { merge: Merge; part?: PartOf },
  call: RoutedCall,
  run: Run<RoutedCall>,
  some?: readonly Place[],
): Promise<Answer> {
  const places = (some ?? (await router.all())) as readonly NumberedPlace[];
  const missing: number[] = [];
  const failures: unknown[] = [];
  const asked = places.map(async ({ node, query }): Promise<Part | null> => {
    const own = part(call, node, places.length);
    if (!own) return null;
    try {
      const answer = await run(query, own);
      return answer ? { node, body: JSON.parse(answer.body) } : null;
    } catch (error) {
      if (!isDown(error)) throw error;
      log(node, error);
      missing.push(node);
      failures.push(error);
      return null;
    }
  });
  const parts = (await Promise.all(asked)).filter((answer) => answer !== null);
  if (parts.length === 0 && failures.length > 0) throw failures[0];
  if (parts.length === 0 && !call.query.cursor) return undefined;
  missing.sort((a, b) => a - b);
  const body = { ...merge(parts, call), ...(missing.length > 0 && { missing_nodes: missing }) };
  return { body: JSON.stringify(body), missing };
}

/** The answer of the first node that answers. */
export async function fromAny<T>(
  router: Router,
  run: (place: NumberedPlace) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const place of await router.all()) {
    try {
      return await run(place);
    } catch (error) {
      if (!isDown(error)) throw error;
      failure ??= error;
    }
  }
  throw failure;
}

/** The answer of the first node that knows the object. If none does, but one is down, that one may know it. */
export async function fromFirst<T>(
  router: Router,
  run: (place: NumberedPlace) => Promise<T | undefined>,
): Promise<T | undefined> {
  let failure: unknown;
  for (const place of await router.all()) {
    try {
      const answer = await run(place);
      if (answer !== undefined) return answer;
    } catch (error) {
      if (!isDown(error)) throw error;
      failure ??= error;
    }
  }
  if (failure) throw failure;
  return undefined;
}

/** The nodes, if all of them answer; throws before anything is changed. */
async function allUp(router: Router): Promise<NumberedPlace[]> {
  const places = await router.all();
  const looks = places.map(({ query }) => query('select 1 as one'));
  const down = (await Promise.allSettled(looks)).flatMap((look, n) => {
    if (look.status === 'fulfilled') return [];
    if (!isDown(look.reason)) throw look.reason;
    return places[n]?.node ?? [];
  });
  if (down.length === 0) return places;
  throw refusal(503, `Node ${down.join(', ')} does not answer, and this call is for all nodes.`, {
    hint: 'Nothing was changed: repeat the call.',
    headers: retryAfterHeader(),
  });
}

/** Runs a change on each node in turn. `undo` takes it back if a later node fails. */
export async function onEach(
  router: Router,
  run: (place: NumberedPlace, before: Answer) => Promise<Answer>,
  undo?: (place: NumberedPlace, answer: Answer) => Promise<unknown>,
): Promise<{ node: number; answer: Answer }[]> {
  const done: { place: NumberedPlace; answer: Answer }[] = [];
  for (const place of await allUp(router)) {
    try {
      const before = done.find(({ answer }) => answer)?.answer;
      done.push({ place, answer: await run(place, before) });
    } catch (error) {
      if (done.length === 0) throw error;
      if (undo) {
        for (const { place, answer } of done) await undo(place, answer).catch(() => {});
        throw error;
      }
      if (!isDown(error)) throw error;
      const changed = done.map(({ place }) => place.node).join(', ');
      throw refusal(
        503,
        `Node ${changed} has the change, and node ${place.node} does not answer.`,
        {
          hint: 'Repeat the call: where it was done it has no second effect.',
          headers: retryAfterHeader(),
        },
      );
    }
  }
  return done.map(({ place, answer }) => ({ node: place.node, answer }));
}
