import { beforeEach, expect, test } from 'vitest';
import { transports } from './transports.ts';

const { cli, connect } = transports('enqueue,read');
let count = 0;

let queue = '';
beforeEach(() => {
  queue = `options-${++count}`;
});
const added = async (...args: string[]) => {
  const { code, out, err } = await cli('enqueue', queue, ...args);
  expect([code, err]).toEqual([0, '']);
  return out.trim();
};
const show = async (id: string) => JSON.parse((await cli('task', id, '--json')).out);

test('each option of enqueue reaches the task', async () => {
  const [soon, later] = ['2030-01-01T00:00:00.000Z', '2030-01-02T00:00:00.000Z'];
  const backoff = { kind: 'fixed', base_seconds: 30 };
  const times = ['--run-at', soon, '--expires-at', later, '--timeout', '5'];
  const more = ['--concurrency-key', 'g', '--backoff', JSON.stringify(backoff)];
  const { run_at, options } = await show(await added('1', ...times, ...more));
  expect(new Date(run_at).toISOString()).toBe(soon);
  expect(new Date(options.expires_at).toISOString()).toBe(later);
  expect(options).toMatchObject({ concurrency_key: 'g', timeout_seconds: 5, backoff });
});

test('a unique key is kept as long as its policy says', async () => {
  const client = await connect();
  const key = ['--unique-key', 'k', '--unique-policy', 'pending'];
  const id = await added('1', ...key);
  expect(await added('2', ...key)).toBe(id);
  await client.query('select tock.claim(p_queue => $1)', [queue]);
  expect(await added('3', ...key)).not.toBe(id);
  const period = ['--unique-key', 'p', '--unique-policy', 'period', '--unique-seconds', '1000'];
  expect(await added('2', ...period)).toBe(await added('1', ...period));
});

test('a newer task of a unique key is debounced, throttled or ignored as too old', async () => {
  const late = ['--unique-key', 'd', '--on-conflict', 'debounce', '--debounce-max', '600'];
  const put = await added('1', ...late, '--delay', '300');
  expect(await added('2', ...late, '--delay', '5000')).toBe(put);
  const { payload, created_at, run_at } = await show(put);
  const after = (Date.parse(run_at) - Date.parse(created_at)) / 1000;
  expect([payload, after > 500, after < 700]).toEqual([2, true, true]);
  const seldom = ['--unique-key', 't', '--on-conflict', 'throttle', '--unique-seconds', '1000'];
  const first = await added('1', ...seldom);
  const client = await connect();
  await client.query('select tock.claim(p_queue => $1)', [queue]);
  const second = await added('2', ...seldom);
  expect(second).not.toBe(first);
  expect(await added('3', ...seldom)).toBe(second);
  expect(await show(second)).toMatchObject({ state: 'waiting', payload: 3 });
  const doc = ['--unique-key', 'c', '--on-conflict', 'replace', '--delay', '1000', '--changed-at'];
  const newest = await added('2', ...doc, '2026-01-02T00:00:00Z');
  expect(await added('1', ...doc, '2026-01-01T00:00:00Z')).toBe(newest);
  expect((await show(newest)).payload).toBe(2);
});

test('mistakes name the option, and what is allowed', async () => {
  const key = ['--unique-key', 'k'];
  const cases: [string[], RegExp][] = [
    [['--unique-policy', 'pending'], /^--unique-policy needs a --unique-key/],
    [[...key, '--unique-policy', 'period'], /^--unique-policy period needs --unique-seconds\n/],
    [[...key, '--unique-seconds', '0'], /^--unique-seconds.* a number from 1 to 31536000\n/],
    [[...key, '--on-conflict', 'odd'], /^--on-conflict.* keep or replace or .*rerun\n/],
    [['--run-at', '2030-01-01T00:00:00Z', '--delay', '4'], /^--delay: give either --delay or/],
    [['--backoff', '{"kind": "odd"}'], /^--backoff kind: .*fixed or linear or exponential\n/],
    [['--backoff', 'fixed'], /^--backoff is not JSON: /],
  ];
  for (const [args, expected] of cases) {
    const { code, out, err } = await cli('enqueue', 'mistakes', '1', ...args);
    expect(err).toMatch(expected);
    expect({ args, code, out }).toEqual({ args, code: 2, out: '' });
  }
});
