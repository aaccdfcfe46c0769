import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Operation } from './document.ts';
import { lostOf, wrongWith } from './judge.ts';
import { garbageOf, type Plan, spoiledOf, validOf } from './requests.ts';
import { runs, seeds } from './seeds.ts';
import { type Target, target } from './target.ts';

let at: Target;
const reached = new Set<string>();
beforeAll(async () => {
  at = await target();
});
afterAll(() => at.tock.database.drop());

/** Sends it, and holds what any answer must be. */
async function hold(plan: Plan): Promise<void> {
  const sent = await at.send(plan);
  const changes = (await at.digest()) !== sent.before;
  const reads = ['GET', 'HEAD', 'OPTIONS'].includes(plan.method);
  const wrong =
    wrongWith(sent, at) ??
    (changes && (reads || sent.status >= 400) ? 'rows were changed' : null) ??
    (await lostOf(sent, at));
  if (wrong)
    throw new Error(
      `${plan.name}: ${sent.status}, ${wrong}\n${sent.curl}\n${sent.answer.slice(0, 1000)}`,
    );
  if (sent.status < 300) reached.add(plan.name);
}

const kinds: [string, (operation: Operation) => fc.Arbitrary<Plan>][] = [
  ['requests that the document allows', validOf],
  ['requests with one thing wrong', spoiledOf],
  ['requests that mean nothing', garbageOf],
];

for (const [what, ofOperation] of kinds) {
  test(`${what} are answered as documented, or refused and nothing done`, {
    timeout: 600_000,
  }, async () => {
    for (const seed of seeds) {
      const plans = fc.oneof(
        ...at.operations.filter((one) => one.path.startsWith('/v1')).map(ofOperation),
      );
      await fc.assert(fc.asyncProperty(plans, hold), { seed, numRuns: runs });
    }
    expect(reached.size).toBeGreaterThan(10);
  });
}
