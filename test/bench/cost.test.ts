import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { attempt } from '../../scripts/stack/run.ts';

const program = resolve(import.meta.dirname, '../../bench/cost.ts');

test('npm run measure:cost counts what a batch takes, and that an idle Tock takes nothing', async () => {
  const { code, output } = await attempt([process.execPath, program, '1']);
  expect(code, output).toBe(0);
  const [title = [], ...rows] = output
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.slice(2, -2).split(' | '));
  const of = (name: string, figure: string) =>
    rows.find(([first]) => first === name)?.[title.indexOf(figure)];
  // A consumer's batch is one request, a worker's batch three: enqueue, claim, complete.
  expect(of('consumer, 100 a batch', 'requests')).toBe('1');
  expect(of('worker, 1 a batch, 12 a second', 'requests')).toBe('3');
  // A notification and an alarm at least.
  expect(Number(of('consumer, 1 a batch', 'object_requests'))).toBeGreaterThanOrEqual(2);
  for (const figure of ['requests', 'statements', 'object_requests', 'rows'])
    expect(of('idle', figure), figure).toBe('0');
  const days = output.split('\nA day:\n')[1]?.trim().split('\n') ?? [];
  expect(days).toHaveLength(1 + 1 + 4 + 4);
});
