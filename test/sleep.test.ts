import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { checkout } from '../scripts/stack/paths.ts';

const clock = 'it is a fake clock that passes';
const killed = 'it is what a process does until the test kills it';
const text = 'it is text that is looked for, and never run';

/** Files that may call sleep(), and why none of their tests fails on a slow machine. */
const reasons: Record<string, string> = {
  'test/sleep.ts': 'all others call it',
  'test/client/leases.test.ts': 'nothing is to happen in it: with less it would go unseen',
  'test/client/edges.test.ts': clock,
  'test/consumers/single-flight.test.ts': clock,
  'test/fuzz/hostile_values.ts': text,
  'test/fuzz/statements.test.ts': text,
  'test/http/poll.test.ts': clock,
  'test/waiting/changes.test.ts': clock,
  'test/waiting/notify.test.ts': clock,
  'test/sql/features/dependencies/rechecks.test.ts':
    'it is work that takes longer than a claim has for it',
  'test/sql/operations/piggyback.test.ts': 'it is work until a timeout or the test ends it',
  'test/stack/host.test.ts': killed,
  'test/stack/locked.test.ts': killed,
  'test/drivers/failures.test.ts': 'it is a session at work until the test ends it',
};

test('only listed files wait for a fixed time', () => {
  const wait = /\bsetTimeout\(|\bpg_sleep|\btimers\/promises|\bsleep\(\d[\d_]{2,}\)/;
  const files = globSync('test/**/*.ts', { cwd: checkout, exclude: ['test/mutants/**'] });
  const waiting = files.filter((file) => wait.test(readFileSync(`${checkout}/${file}`, 'utf8')));
  // In another file, wait for a condition (until, becomes, blocked, expect.poll), or date rows back.
  expect(waiting.toSorted()).toEqual(Object.keys(reasons).toSorted());
});
