import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { poll } from '../../functions/http/poll.ts';

// The test moves the clock, so that a busy machine does not delay the polls.
beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

/** Gives these answers in order, then the last one repeatedly, each after `ms`. `times` has the times of the polls. */
function answers(states: string[], ms = 0) {
  const times: number[] = [];
  const once = async () => {
    times.push(Date.now());
    const body = states[times.length - 1] ?? states.at(-1) ?? '';
    if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
    return { body };
  };
  return { once, times };
}

type Options = Partial<Parameters<typeof poll>[2]>;

const start = (once: () => Promise<{ body: string }>, options: Options) =>
  poll(once, (body) => body, {
    seconds: 30,
    disconnected: new AbortController().signal,
    ...options,
  });

/** Polls while a minute passes, and returns the last answer's state. */
async function polled(once: () => Promise<{ body: string }>, options: Options = {}) {
  const wait = start(once, options);
  await vi.advanceTimersByTimeAsync(60_000);
  return (await wait)?.body;
}

/** Milliseconds from each poll to the next. */
const gaps = (times: number[]) => times.slice(1).map((at, n) => at - (times[n] ?? 0));

test('a call that does not wait is not repeated, even after skipping cancelled runs', async () => {
  const { once, times } = answers(['passing']);
  expect(await polled(once, { seconds: 0 })).toBe('passing');
  expect(times).toHaveLength(1);
});

test('after skipping cancelled runs a claim is repeated a hundred times at once, then with pauses', async () => {
  const { once, times } = answers(['passing']);
  expect(await polled(once, { seconds: 1 })).toBe('passing');
  expect(times.length).toBeGreaterThan(101);
  expect(times.length).toBeLessThanOrEqual(101 + 64);
});

test('a claim is not repeated after its client has disconnected', async () => {
  const client = new AbortController();
  const { once, times } = answers(['passing']);
  const leave = async () => {
    if (times.length === 3) client.abort();
    return once();
  };
  await polled(leave, { disconnected: client.signal });
  expect(times).toHaveLength(4);
});

test.each(['paused', 'busy'])('a claim that is %s is repeated with pauses', async (state) => {
  const { once, times } = answers([state, state, 'found']);
  expect(await polled(once)).toBe('found');
  expect(times).toHaveLength(3);
  for (const gap of gaps(times)) expect(gap).toBeGreaterThanOrEqual(16);
});

test('a waiting claim polls every 20 ms with jitter, and once more at its deadline', async () => {
  const { once, times } = answers(['empty']);
  const started = Date.now();
  expect(await polled(once, { seconds: 2 })).toBe('empty');
  const between = gaps(times.slice(0, -1));
  for (const gap of between) {
    expect(gap).toBeGreaterThanOrEqual(16);
    expect(gap).toBeLessThanOrEqual(24);
  }
  expect(new Set(between).size).toBeGreaterThan(3);
  expect(times.at(-1)).toBe(started + 2000);
});

test('polls use a slow database at most half of the time', async () => {
  const { once, times } = answers(['empty'], 100);
  await polled(once, { seconds: 2 });
  for (const gap of gaps(times.slice(0, -1))) expect(gap).toBeGreaterThan(195);
  expect(times.length).toBeLessThanOrEqual(11);
});

test('a client that disconnects during a pause ends the polling', async () => {
  const client = new AbortController();
  const { once, times } = answers(['empty']);
  setTimeout(() => client.abort(), 200);
  const started = Date.now();
  const ended = start(once, { most: 10, disconnected: client.signal }).then(Date.now);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await ended).toBe(started + 200);
  expect(times).toHaveLength(1);
});

test('with a limit of statements the polls are spread over the time', async () => {
  for (let round = 0; round < 8; round++) {
    const { once, times } = answers(['empty']);
    const started = Date.now();
    await polled(once, { seconds: 2, most: 11 });
    expect(times).toHaveLength(11);
    for (const [n, gap] of gaps(times.slice(0, -1)).entries()) {
      // The remaining time is divided by the number of remaining polls, with a random difference of up to a fifth.
      const share = (started + 2000 - (times[n] ?? 0)) / (10 - n);
      expect(gap).toBeGreaterThanOrEqual(Math.floor(0.8 * share));
      expect(gap).toBeLessThanOrEqual(Math.ceil(1.2 * share) + 1);
    }
    expect(times.at(-1)).toBe(started + 2000);
  }
});

test('a claim that skips cancelled runs stays within the limit of statements', async () => {
  const { once, times } = answers(['passing']);
  expect(await polled(once, { most: 45 })).toBe('passing');
  expect(times).toHaveLength(45);
});

test('with `share` the pauses grow with the time waited', async () => {
  const { once, times } = answers(['empty']);
  const started = Date.now();
  await polled(once, { share: 0.1 });
  expect(times.length).toBeGreaterThan(30);
  expect(times.length).toBeLessThan(100);
  for (const [n, gap] of gaps(times.slice(0, -1)).entries()) {
    const sofar = (times[n] ?? 0) - started;
    expect(gap).toBeLessThanOrEqual(Math.max(24, Math.ceil(0.12 * sofar) + 1));
    expect(gap).toBeGreaterThanOrEqual(Math.max(16, Math.floor(0.08 * sofar)));
  }
  expect(times.at(-1)).toBe(started + 30_000);
});

test('a claim that a rate delays polls again when a task may start, or at its deadline, not before', async () => {
  const { once, times } = answers(['limited', 'limited', 'found']);
  expect(await polled(once, { secondsToAdmission: () => 4 })).toBe('found');
  expect(gaps(times)).toEqual([3000, 3000]);
  const late = answers(['limited']);
  await polled(late.once, { seconds: 10, secondsToAdmission: () => 60 });
  expect(gaps(late.times)).toEqual([10_000]);
});

test('a claim that waits for another task to end polls like one without tasks', async () => {
  const { once, times } = answers(['limited']);
  await polled(once, { seconds: 1, secondsToAdmission: () => 1 });
  for (const gap of gaps(times.slice(0, -1))) expect(gap).toBeLessThanOrEqual(24);
});

test('a poll waits for a free slot, until the deadline', async () => {
  const { once, times } = answers(['empty']);
  let free = false;
  const pollSlot = () => (free ? () => {} : null);
  const wait = start(once, { seconds: 10, pollSlot });
  await vi.advanceTimersByTimeAsync(9000);
  expect(times).toHaveLength(1);
  free = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect((await wait)?.body).toBe('empty');
  expect(times.length).toBeGreaterThan(10);
  free = false;
  const vain = answers(['empty']);
  expect(await polled(vain.once, { seconds: 1, pollSlot })).toBe('empty');
  expect(vain.times).toHaveLength(1);
});

test('a client that disconnects while a poll waits for a slot ends the polling', async () => {
  const { once, times } = answers(['empty']);
  const client = new AbortController();
  let free = false;
  const pollSlot = () => (free ? () => {} : null);
  const wait = start(once, { seconds: 10, pollSlot, disconnected: client.signal });
  await vi.advanceTimersByTimeAsync(1000);
  free = true;
  client.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  await wait;
  expect(times).toHaveLength(1);
});
