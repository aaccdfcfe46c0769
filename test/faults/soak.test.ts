import { expect, test } from 'vitest';
import { soak } from '../../scripts/soak/run.ts';

// The short form of `npm run soak`, over SQL: every fault, the end of an epoch, and every task accounted for.
test('ten seconds of work, kills and changing epochs lose and double nothing', async () => {
  const said: string[] = [];
  const differences = await soak({
    minutes: 10 / 60,
    seed: 1,
    roundSeconds: 10,
    say: (line) => said.push(line),
  });
  // A drop that met a reader backs off for a minute and more, which only the long form waits for.
  const found = differences.filter(({ kind }) => kind !== 'history is not dropped');
  expect(found.map(({ kind, detail }) => `${kind}: ${detail.slice(0, 200)}`)).toEqual([]);
  const text = said.join('\n');
  for (const fault of ['the server', 'a backend', 'a worker']) {
    expect(text).toContain(`kill -9 of ${fault}`);
  }
});
