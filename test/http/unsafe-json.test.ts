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
  ['TK404', 404],
  ['TK503', 503],
  ['22P05', 422],
  ['22003', 422],
  ['23514', 422],
  ['54001', 422],
  ['23505', 409],
  ['40001', 503],
  ['40P01', 503],
  ['42P01', 503],
  ['53300', 503],
  ['55P03', 503],
  ['57014', 503],
  ['57P01', 503],
  ['08006', 503],
  ['42501', 500],
  ['XX000', 500],
  ['TK999', 500],
  [undefined, 500],
])('SQLSTATE %s is HTTP %i', (code, status) => {
  expect(statusOf(code)).toBe(status);
});

test('the scan of a large body stays linear after V8 has optimized it', () => {
  const payload = { user: 1, to: 'someone@example.com', text: 'hello '.repeat(40) };
  const text = JSON.stringify({ tasks: Array.from({ length: 10_000 }, () => ({ payload })) });
  // After about ten calls, V8's optimizer once made the scan read the whole text for each string, which took minutes.
  for (let times = 0; times < 40; times++) expect(findUnsafeJson(text)).toBeNull();
});

test.each([
  ['an error about a row without a partition is a 503', { code: '23514', table: 'runs' }, 503],
  [
    'a function of a segment that was dropped is a 503',
    { code: '42883', message: 'function tock.run_at_12(integer, bigint) does not exist' },
    503,
  ],
  [
    'any other missing function is a 500',
    { code: '42883', message: 'function tock.x() does not exist' },
    500,
  ],
  ['a collision of two claims is a 503', { code: '23505', constraint: 'leases_12_pkey' }, 503],
  ['the violation of a check is a 422', { code: '23514', table: 'x', constraint: 'x_is_y' }, 422],
])('%s', async (_, error, status) => {
  const app = new Hono().get('/', () => {
    throw Object.assign(new Error('x'), error);
  });
  app.onError(problem);
  expect((await app.request('/')).status).toBe(status);
});
