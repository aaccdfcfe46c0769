import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { alarmNotifier } from '../../functions/alarm/notify.ts';
import type { Bindings } from '../../functions/env.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ANSWER_MS = 3;

/** A notifier, and an object whose answers take a while; `sent` has the time of each message. */
function notifying(waiting: boolean) {
  const notify = alarmNotifier();
  const sent: { at: number; changed: string[] }[] = [];
  const fetch = async (_url: string, init: RequestInit) => {
    sent.push({ at: performance.now(), changed: JSON.parse(String(init.body)).changed });
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
    return Response.json({ waiting });
  };
  const ALARM = { idFromName: () => '', get: () => ({ fetch }) };
  const change = (name: string) =>
    notify({ ALARM } as unknown as Bindings, { changed: [name], passOn: [] });
  return { change, sent };
}

test.each([
  [true, 50],
  [false, 600],
])('changes while a message is under way go soon if calls wait (%s)', async (waiting, ms) => {
  const { change, sent } = notifying(waiting);
  void change('a');
  void change('b');
  void change('c');
  await vi.advanceTimersByTimeAsync(ms);
  expect(sent.map(({ changed }) => changed)).toEqual([['a'], ['b', 'c']]);
  const [first, second] = sent.map(({ at }) => at) as [number, number];
  if (waiting) expect(second - first).toBeLessThan(50);
  else expect(second - first).toBeGreaterThanOrEqual(500);
});
