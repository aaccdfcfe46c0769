import { afterEach, expect, test, vi } from 'vitest';
import { type KeepAlive, singleFlight } from '../../functions/consumers/single_flight.ts';
import { deferred } from '../client/service.ts';

const stopTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
afterEach(() => void vi.useRealTimers());

const never = () => new Promise<void>(() => {});

/** An invocation. over() resolves when all promises that keep it alive have settled. */
function invocation() {
  const held: Promise<unknown>[] = [];
  const hold: KeepAlive = (promise) => held.push(promise);
  return { hold, over: () => Promise.all(held) };
}

test('a thousand wakeups during a turn start no further turns, and the turn sees them', async () => {
  const { open, opened } = deferred();
  let works = 0;
  let heard = 0;
  const wake = singleFlight(async (_seconds, knocks) => {
    if (works++ > 0) return;
    await opened;
    heard = knocks.count();
  });
  const invocations = Array.from({ length: 1000 }, invocation);
  const began = invocations.map(({ hold }) => wake(hold));
  open();
  await Promise.all(invocations.map(({ over }) => over()));
  expect(began.filter(Boolean)).toHaveLength(1);
  expect(heard).toBe(1000);
  // The turn works once more, because the wakeup may have come after its last claim.
  expect(works).toBe(2);
});

test('a wakeup at the end of a turn is not lost', async () => {
  for (let ticks = 0; ticks < 30; ticks++) {
    let brought = 0;
    let taken = 0;
    const wake = singleFlight(async () => {
      taken = brought;
      for (let n = 0; n < 10; n++) await null;
    });
    const first = invocation();
    const second = invocation();
    brought = 1;
    wake(first.hold);
    for (let n = 0; n < ticks; n++) await null;
    brought = 2;
    wake(second.hold);
    await Promise.all([first.over(), second.over()]);
    expect(taken).toBe(2);
  }
});

test('if a turn is busy until its time is up, the first waiting wakeup takes over', async () => {
  let works = 0;
  const wake = singleFlight(() => (works++ === 0 ? never() : Promise.resolve()), { seconds: 0.5 });
  wake(invocation().hold);
  const [heir, other] = [invocation(), invocation()];
  wake(heir.hold);
  wake(other.hold);
  await heir.over();
  await other.over();
  expect(works).toBe(2);
});

test("a wakeup at the end of a turn's time is not lost", async () => {
  stopTime();
  const sleep = (ms: number) => vi.advanceTimersByTimeAsync(ms);
  let brought = 0;
  let taken = 0;
  const wake = singleFlight(async () => {
    taken = brought;
    // After 15 s the turn starts no more work, and its successor checks each second whether it can begin.
    if (brought === 1) await new Promise((resolve) => setTimeout(resolve, 15_300));
  });
  const [first, heir, late] = [invocation(), invocation(), invocation()];
  brought = 1;
  wake(first.hold);
  await sleep(100);
  wake(heir.hold);
  await sleep(14_800);
  brought = 2;
  wake(late.hold);
  await sleep(5000);
  await Promise.all([first, heir, late].map(({ over }) => over()));
  expect(taken).toBe(2);
});

test('a killed turn and a killed successor do not block later turns', async () => {
  stopTime();
  let works = 0;
  const wake = singleFlight(() => (works++ === 0 ? never() : Promise.resolve()));
  wake(invocation().hold);
  wake(invocation().hold);
  await null;
  // A killed invocation loses its timers.
  vi.clearAllTimers();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(works).toBe(1);
  expect(wake(invocation().hold)).toBe(true);
  expect(works).toBe(2);
});

test('turns are at least quiet_ms apart, and the last wakeup gets a turn', async () => {
  stopTime();
  const at: number[] = [];
  const wake = singleFlight(async () => void at.push(performance.now()), { quiet_ms: 100 });
  const all = Array.from({ length: 5 }, invocation);
  for (const { hold } of all) {
    wake(hold);
    await null;
  }
  await vi.advanceTimersByTimeAsync(1000);
  await Promise.all(all.map(({ over }) => over()));
  expect(at).toHaveLength(2);
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(100);
});
