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
  /** What a look finds, and how long it takes. */
  const state = { answer: 'empty', ms: 0, fails: false };
  const shared = `kind ${n++}`;
  const passed: string[] = [];
  const wait = (
    seconds = 30,
    options: { most?: number; isRepeatable?: boolean; pollsAtLast?: boolean } = {},
  ) => {
    const once = async () => {
      looks.push(Date.now());
      if (state.ms > 0) await new Promise((resolve) => setTimeout(resolve, state.ms));
      if (state.fails) throw new Error('no connection');
      return { body: state.answer };
    };
    const passOn = () => void passed.push('on');
    const changes = createChanges({ hub, names: ['a'], most_ms, shared, passOn });
    return poll(once, (body) => body, { seconds, disconnected: never, changes, ...options });
  };
  return { looks, state, wait, passed };
}

/** Lets a waiting call's time pass. Returns its answer. */
async function over<T>(waiting: Promise<T>, ms = 30_000): Promise<T> {
  await pass(ms);
  return waiting;
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('the looks of a call grow apart while nothing changes, and the answer is that of the last one', async () => {
  const { looks, wait } = calls();
  expect((await over(wait()))?.body).toBe('empty');
  expect(looks.length).toBeLessThan(50);
  const last = looks.at(-1) ?? 0;
  expect(last - (looks.at(-2) ?? 0)).toBeGreaterThan(2000);
});

test('a later call of the same kind asks nothing while the last look is recent', async () => {
  const { looks, wait } = calls();
  await over(wait());
  const before = looks.length;
  for (let minute = 0; minute < 60; minute++) {
    await over(Promise.all(Array.from({ length: 100 }, () => wait())));
  }
  // Half an hour of a hundred workers.
  expect(looks.length - before).toBeLessThan(60);
});

test('a call with a request id looks itself, first and last, because only so it finds its own lease', async () => {
  const { looks, wait } = calls();
  await over(wait());
  const before = looks.length;
  const repeated = wait(1, { isRepeatable: true });
  await pass(0);
  expect(looks.length).toBe(before + 1);
  await pass(1000);
  await repeated;
  expect(looks.length).toBe(before + 2);
});

test('no look is more than most_ms after the one before', async () => {
  const { looks, wait } = calls(new LocalHub(), 1000);
  await over(wait());
  const gaps = looks.slice(1).map((at, i) => at - (looks[i] ?? 0));
  expect(Math.max(...gaps)).toBeLessThanOrEqual(1000);
});

test('a call that a change has woken, and that finds a task, passes the change on; others do not', async () => {
  const hub = new LocalHub();
  const { state, wait, passed } = calls(hub);
  const waiting = wait();
  await pass(10_000);
  state.answer = 'found';
  hub.announce(['a']);
  await pass(0);
  expect((await waiting)?.body).toBe('found');
  expect(passed).toEqual(['on']);
  const other = calls(hub);
  other.state.answer = 'found';
  await other.wait();
  expect(other.passed).toEqual([]);
});

test('a task that a woken call finds after its deadline is passed on too', async () => {
  const hub = new LocalHub();
  const { state, wait, passed } = calls(hub);
  const waiting = wait(10);
  await pass(9900);
  Object.assign(state, { answer: 'found', ms: 200 });
  hub.announce(['a']);
  await pass(200);
  expect((await waiting)?.body).toBe('found');
  expect(passed).toEqual(['on']);
});

test('a woken call that cannot look wakes others in its place', async () => {
  const hub = new LocalHub();
  const { state, wait, passed } = calls(hub);
  const waiting = expect(wait()).rejects.toThrow('no connection');
  await pass(10_000);
  state.fails = true;
  hub.announce(['a']);
  await pass(0);
  await waiting;
  expect(passed).toEqual(['on']);
});

test('beside many changes a claim answers before its time, and a call for the end of a task polls on', async () => {
  const hub = new LocalHub();
  const ended: string[] = [];
  const claim = calls(hub);
  const task = calls(hub);
  void claim.wait(30).then(() => ended.push('claim'));
  void task.wait(30, { pollsAtLast: true }).then(() => ended.push('task'));
  for (let ms = 0; ms < 29_000; ms += 20) {
    hub.announce(null);
    await pass(20);
  }
  expect(ended).toEqual(['claim']);
  await pass(1000);
  expect(ended).toEqual(['claim', 'task']);
});

test('a claim that a limit holds back, or whose hub cannot be reached, polls as without a hub', async () => {
  const limited = calls();
  limited.state.answer = 'limited';
  const cut = calls({ next: () => Promise.reject(new Error('unreachable')) });
  for (const { looks, wait } of [limited, cut]) {
    await over(wait(2), 2000);
    expect(looks.length).toBeGreaterThan(50);
  }
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
  await over(wait(30, { most: 45 }));
  expect(looks.length + waits).toBeLessThanOrEqual(46);
});
