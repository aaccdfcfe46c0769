import { expect, test } from 'vitest';
import { kills, others } from '../../scripts/torture/plan.ts';
import { torture } from '../../scripts/torture/run.ts';

// The short form of `npm run torture`: each kind of fault once, over HTTP, and every task accounted for.
test('kills, broken ways, deadlocks and a filled pool lose and double nothing', async () => {
  const said: string[] = [];
  const seed = Number(process.env.TOCK_TEST_SEED ?? Date.now() % 1_000_000);
  const differences = await torture({ seconds: 25, seed, say: (line) => said.push(line) });
  const found = differences.map(({ kind, about, detail }) => `${kind}: ${about}: ${detail}`);
  expect(found.slice(0, 10), `seed ${seed}`).toEqual([]);
  const text = said.join('\n');
  // Each was at least tried: one may be overtaken by another.
  for (const kind of [...kills, ...others]) expect(text).toContain(kind);
}, 300_000);
