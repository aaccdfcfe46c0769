import { expect, test } from 'vitest';
import { retryDelay } from '../../../functions/compat/qstash/retry_delay.ts';

test.each([
  ['1000', 1000],
  ['1000 * (1 + retried)', 4000],
  ['pow(2, retried) * 1000', 8000],
  ['max(1000, pow(2, retried) * 100)', 1000],
  ['-2 - -3 * 2 % 4', 0],
  ['min(5, 4, retried)', 3],
  ['floor(exp(retried)/2)', 10],
  ['sqrt( abs ( -9 ) )', 3],
  ['ceil(1.2)+round(1.5)', 4],
])('%s after three retries is %d ms', (expression, ms) => {
  expect(retryDelay(expression, 3)).toBe(ms);
});

test.each([
  ...['', '(', '1 2', '1 +', 'retried retried', 'pow(1)', 'min()', 'pow', 'constructor(1)', '1,2'],
  ...['(1,2)', 'x', '2**3', '1;1', '`1`', '1e3', `${'('.repeat(250)}1`, `${'1+'.repeat(100)}1`],
])('%j is no expression', (expression) => {
  expect(retryDelay(expression, 1)).toBeNaN();
});
