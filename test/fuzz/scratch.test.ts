import { appendFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, test } from 'vitest';
import { lostOf, wrongWith } from './judge.ts';
import { garbageOf, type Plan, spoiledOf, validOf } from './requests.ts';
import { type Target, target } from './target.ts';

let at: Target;
const out = process.env.OUT as string;
beforeAll(async () => {
  at = await target();
});
afterAll(() => at.tock.database.drop());
test('x', { timeout: 3_000_000 }, async () => {
  const found = new Map<string, number>();
  const statuses = new Map<string, number>();
  for (const [kind, of] of Object.entries({ validOf, spoiledOf, garbageOf })) {
    if (process.env.KIND && kind !== process.env.KIND) continue;
    const plans = fc.sample(
      fc.oneof(
        ...at.operations
          .filter(
            (o) =>
              o.path.startsWith('/v1') && (!process.env.ONLY || o.name.includes(process.env.ONLY)),
          )
          .map(of),
      ),
      { seed: Number(process.env.SEED), numRuns: Number(process.env.RUNS) },
    );
    for (const plan of plans) {
      try {
        const started = Date.now();
        const sent = await at.send(plan as Plan);
        const took = Date.now() - started;
        const k = `${kind} ${plan.name} ${sent.status}`;
        statuses.set(k, (statuses.get(k) ?? 0) + 1);
        const changes = (await at.digest()) !== sent.before;
        const reads = ['GET', 'HEAD', 'OPTIONS'].includes(plan.method);
        const wrong =
          wrongWith(sent, at) ??
          (changes && (reads || sent.status >= 400) ? 'rows were changed' : null) ??
          (await lostOf(sent, at)) ??
          (took > 1500 ? `slow ${''}` : null);
        if (wrong) {
          const key = `${kind} ${plan.name}: ${sent.status} ${wrong.slice(0, 100)}`;
          const n = (found.get(key) ?? 0) + 1;
          found.set(key, n);
          if (n === 1)
            appendFileSync(
              out,
              `\n=== ${key} ${took}\n${wrong.slice(0, 600)}\n${sent.curl.slice(0, 1500)}\n${sent.answer.slice(0, 500)}\n`,
            );
        }
      } catch (error) {
        const key = `${kind} ${plan.name}: THROWN ${(error as Error).message.slice(0, 200)}`;
        const n = (found.get(key) ?? 0) + 1;
        found.set(key, n);
        if (n === 1)
          appendFileSync(
            out,
            `\n=== ${key}\n${(error as Error).stack?.slice(0, 800)}\n${JSON.stringify(plan).slice(0, 800)}\n`,
          );
      }
    }
  }
  appendFileSync(
    out,
    `\n\nCOUNTS\n${[...found].map(([k, n]) => `${n} ${k}`).join('\n')}\n\nSTATUSES\n${[...statuses]
      .sort()
      .map(([k, n]) => `${n} ${k}`)
      .join('\n')}\n`,
  );
});
