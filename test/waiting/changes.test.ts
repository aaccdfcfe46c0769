import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { poll } from '../../functions/http/poll.ts';
import { createChanges } from '../../functions/waiting/changes.ts';
import { type Hub, LocalHub } from '../../functions/waiting/hub.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, 'error').mockImplementation(() => {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const never = new AbortController().signal;
let n = 0;

/** Waiting calls of one kind, and the times of their looks. With `found` a look finds a task. */
function calls(hub: Hub = new LocalHub(), most_ms = 600_000) {
  const looks: number[] = [];
  const state = { found: false };
  const shared = `kind ${n++}`;
  const passed: string[] = [];
  const wait = (seconds = 30, most?: number, isRepeatable = false) => {
    const once = async () => {
      looks.push(Date.now());
      return { body: state.found ? 'found' : 'empty' };
    };
    const passOn = () => void passed.push('on');
    const changes = createChanges({ hub, names: ['a'], most_ms, shared, passOn });
    return poll(once, (body) => body, {
      seconds,
      most,
      disconnected: never,
      changes,
      isRepeatable,
    });
  };
  return { looks, state, wait, passed };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('the looks of a call grow apart while nothing changes, and the answer is that of the last one', async () => {
  const { looks, wait } = calls();
  const waiting = wait();
  await pass(30_000);
  expect((await waiting)?.body).toBe('empty');
  expect(looks.length).toBeLessThan(50);
  const last = looks.at(-1) ?? 0;
  expect(last - (looks.at(-2) ?? 0)).toBeGreaterThan(2000);
});

test('a later call of the same kind asks nothing while the last look is recent', async () => {
  const { looks, wait } = calls();
  const waiting = wait();
  await pass(30_000);
  await waiting;
  const before = looks.length;
  for (let minute = 0; minute < 60; minute++) {
    const hundred = Array.from({ length: 100 }, () => wait());
    await pass(30_000);
    await Promise.all(hundred);
  }
  // Half an hour of a hundred workers.
  expect(looks.length - before).toBeLessThan(60);
});

test('a call with a request id looks itself, first and last, because only so it finds its own lease', async () => {
  const { looks, wait } = calls();
  const waiting = wait();
  await pass(30_000);
  await waiting;
  const before = looks.length;
  const repeated = wait(1, undefined, true);
  await pass(0);
  expect(looks.length).toBe(before + 1);
  await pass(1000);
  await repeated;
  expect(looks.length).toBe(before + 2);
});

test('no look is more than most_ms after the one before', async () => {
  const { looks, wait } = calls(new LocalHub(), 1000);
  const waiting = wait();
  await pass(30_000);
  await waiting;
  const gaps = looks.slice(1).map((at, i) => at - (looks[i] ?? 0));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1400);
});

test('a call that a change has woken, and that finds a task, passes the change on; others do not', async () => {
  const hub = new LocalHub();
  const { state, wait, passed } = calls(hub);
  const waiting = wait();
  await pass(10_000);
  state.found = true;
  hub.announce(['a']);
  await pass(0);
  expect((await waiting)?.body).toBe('found');
  expect(passed).toEqual(['on']);
  const other = calls(hub);
  other.state.found = true;
  await other.wait();
  expect(other.passed).toEqual([]);
});

test('a call whose hub cannot be reached polls', async () => {
  const { looks, wait } = calls({ next: () => Promise.reject(new Error('unreachable')) });
  const waiting = wait(2);
  await pass(2000);
  await waiting;
  expect(looks.length).toBeGreaterThan(50);
});

test('a limit of statements counts each wait as one of them', async () => {
  let waits = 0;
  const hub = new LocalHub();
  const counting: Hub = {
    next: (...args) => {
      waits++;
      return hub.next(...args);
    },
  };
  const { looks, wait } = calls(counting);
  const waiting = wait(30, 45);
  await pass(30_000);
  await waiting;
  expect(looks.length + waits).toBeLessThanOrEqual(46);
});
