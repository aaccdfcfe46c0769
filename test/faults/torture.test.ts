import { expect, test } from 'vitest';
import { plantNames } from '../../scripts/chaos/drivers/planted_faults.ts';
import { type Options, run } from '../../scripts/chaos/harness.ts';

/** Only against a hang: on a busy machine a run takes many times as long. */
const timeout = 3_600_000;
const seed = Number(process.env.TOCK_TORTURE_SEED ?? 1);

async function ran(options: Omit<Options, 'print' | 'seed'>) {
  const output: string[] = [];
  const differences = await run({ seed, print: (line) => output.push(line), ...options });
  const texts = differences.map(({ kind, detail }) => `${kind}: ${detail.slice(0, 300)}`);
  return { text: output.join('\n'), found: texts.join('\n'), differences };
}

// A short `npm run torture`: every kind of fault once, and every task accounted for.
test.each([
  ['a while over HTTP', 'http'],
  ['a while in SQL', 'sql'],
] as const)(
  '%s, with killed processes, broken connections and held locks, loses and doubles no task',
  { timeout },
  async (_, driver) => {
    const { text, found: problems } = await ran({ driver, seconds: 6 });
    expect(problems).toBe('');
    // The run itself reports a kind of fault that had no effect, so two lines are enough here.
    expect(text).toContain('fault kill -9 of server');
    expect(text).toContain('complete: 200');
  },
);

// A short `npm run soak`.
test('a while in SQL without kills, while segments end, loses and doubles no task', {
  timeout,
}, async () => {
  const { text, found: problems } = await ran({ driver: 'sql', seconds: 6, soak: 6 });
  expect(problems).toBe('');
  expect(text).toContain('fault segment ended');
});

test('each fault that is planted in a driver is found', { timeout }, async () => {
  const kinds: Record<string, RegExp> = {
    'lost completion': /^(leased after its completion|completed twice|a completion was undone)$/,
    'lost enqueue': /^(lost|dropped without an end)$/,
    'doubled run': /^a run was leased twice$/,
    'doubled enqueue': /^stored twice$/,
    'lost checkpoint': /^a step ran after its checkpoint$/,
    'lost child': /^a child has another outcome$/,
    'lost signal': /^(a signal was lost|a signalled task still waited|two payloads were accepted)$/,
  };
  expect(Object.keys(kinds)).toEqual(plantNames);
  const { differences, text } = await ran({
    driver: 'sql',
    seconds: 6,
    soak: 6,
    plants: plantNames,
  });
  for (const [plant, kind] of Object.entries(kinds)) {
    const isReported = differences.some((difference) => kind.test(difference.kind));
    expect(isReported, `${plant}\n${text}`).toBe(true);
  }
});
