import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { statusOf } from '../../functions/database/errors.ts';
import { problem } from '../../functions/http/problem.ts';
import { findUnsafeJson } from '../../functions/http/unsafe_json.ts';

test.each([
  ['{"a": "\\\\u0000"}', 'a backslash before u0000'],
  ['{"a": "\\ud83d\\ude00", "😀": "\\\\ud83d"}', 'a whole surrogate pair'],
  ['{"a": "1e400", "1e400": 1e99, "b": [true, false, null, 1E-9, 12e+05]}', 'small exponents'],
  [`${'['.repeat(512)}${']'.repeat(512)}`, 'nesting of 512 levels'],
  ['{"a": "\\"", "b": "\\\\", "c": "\\\\\\"e999"}', 'escaped quotes'],
  ['[]', 'nothing'],
])('%s is safe: %s', (text) => {
  expect(findUnsafeJson(text)).toBeNull();
});

test.each([
  ['{"a": [{}, [1, 2], {"b": 1, "c": "\\u0000"}]}', 'a[2].c'],
  ['{"a": {"b": {}}, "c": [[], [5, 1e100]]}', 'c[1][1]'],
  ['{"a": "x\\\\", "b": "\\uDC00"}', 'b'],
  ['{"a b": {"\\u00e9": -1.5E-400}}', 'a b.é'],
  ['{"a": 1, "b": {"\\u0000": 1}}', 'b'],
  ['[1e999]', '[0]'],
])('the unsafe part of %s is at %s', (text, field) => {
  expect(findUnsafeJson(text)?.field).toBe(field);
});

test('a body of five megabytes is scanned in linear time', () => {
  const tasks = Array.from({ length: 10_000 }, (_, n) => ({ payload: { n, x: 'y'.repeat(430) } }));
  const text = JSON.stringify({ tasks });
  const started = process.cpuUsage();
  expect(findUnsafeJson(text)).toBeNull();
  // The limit is CPU time, so other processes do not matter. On a quiet machine it takes 30 ms.
  expect(process.cpuUsage(started).user).toBeLessThan(1_000_000);
});

test.each([
  [404, ['TK404']],
  [409, ['23505']],
  [422, ['22P05', '22003', '23514', '54001']],
  [500, ['42501', 'XX000', 'TK999', undefined]],
  [503, ['TK503', '40001', '40P01', '42P01', '53300', '55P03', '57014', '57P01', '08006']],
])('HTTP %i is the answer to %j', (status, codes) => {
  for (const code of codes) expect(statusOf(code), code).toBe(status);
});

test('the scan of a large body stays linear after V8 has optimized it', () => {
  const payload = { user: 1, to: 'someone@example.com', text: 'hello '.repeat(40) };
  const text = JSON.stringify({ tasks: Array.from({ length: 10_000 }, () => ({ payload })) });
  // After about ten calls, V8's optimizer once made the scan read the whole text for each string, which took minutes.
  for (let times = 0; times < 40; times++) expect(findUnsafeJson(text)).toBeNull();
});

const missing = (name: string) => ({
  code: '42883',
  message: `function tock.${name} does not exist`,
});

test.each([
  ['an error about a row without a partition', { code: '23514', table: 'runs' }, 503],
  ['a function of a segment that was dropped', missing('run_at_12(integer, bigint)'), 503],
  ['any other missing function', missing('x()'), 500],
  ['a collision of two claims', { code: '23505', constraint: 'leases_12_pkey' }, 503],
  [
    'a server of Citus that ended',
    { code: 'XX000', message: 'postmaster was shut down, exiting' },
    503,
  ],
  ['any other internal error', { code: 'XX000', message: 'could not find' }, 500],
  ['the violation of a check', { code: '23514', table: 'x', constraint: 'x_is_y' }, 422],
])('%s (%j) is HTTP %i', async (_, error, status) => {
  const app = new Hono().get('/', () => {
    throw Object.assign(new Error('x'), error);
  });
  app.onError(problem);
  expect((await app.request('/')).status).toBe(status);
});
