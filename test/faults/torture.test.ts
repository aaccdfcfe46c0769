import { expect, test } from 'vitest';
import { torture } from '../../scripts/torture/run.ts';

// The short form of `npm run torture`: every kind of fault once, and every task accounted for.
test('a while over HTTP, with everything killed, torn and held up, loses and doubles nothing', async () => {
  const said: string[] = [];
  const differences = await torture({
    seconds: 6,
    seed: Number(process.env.TOCK_TORTURE_SEED ?? 1),
    say: (line) => said.push(line),
  });
  const found = differences.map(({ kind, detail }) => `${kind}: ${detail.slice(0, 300)}`);
  expect(found.join('\n')).toBe('');
  const text = said.join('\n');
  for (const victim of ['server', 'backend', 'workerd', 'worker']) {
    expect(text).toContain(`fault kill -9 of ${victim}`);
  }
  expect(text).toContain('complete: 200');
});
