import { afterEach, expect, test, vi } from 'vitest';
import { createTock, RetryIn } from '../../client/index.ts';
import { createTestTock } from '../../client/testing.ts';
import { sleep } from '../sleep.ts';
import { noTasksDone, payloadTasks } from './service.ts';

afterEach(() => void vi.useRealTimers());

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

const throws = (odd: unknown) => () => {
  throw odd;
};
const unspeakable = { get: throws(new Error('no text')) };

test.each<[what: string, end: () => unknown]>([
  ['throws nothing', throws(undefined)],
  ['throws null', throws(null)],
  ['throws an object without a prototype', throws(Object.create(null))],
  ['throws a Proxy that was revoked', throws(revoked())],
  [
    'throws an error whose message throws',
    throws(Object.defineProperty(new Error(), 'message', unspeakable)),
  ],
  ['throws a symbol', throws(Symbol('s'))],
  ['throws a time that is no number', throws(new RetryIn(1n as never))],
  ['returns a Proxy that was revoked', () => ({ in: revoked() })],
  ['returns what throws when it is spelled', () => ({ toJSON: throws(null) })],
])('if a handler %s, only its task fails', async (_, end) => {
  const tock = createTestTock();
  const [id = ''] = await tock.enqueueMany('q', payloadTasks(3));
  const handler = async (task: { id: string }) => (task.id === id ? end() : undefined);
  const worked = await tock.work('q', handler, { until: 'empty', prefetch: { low: 0, high: 3 } });
  expect(worked).toEqual({ ...noTasksDone, done: 2, failed: 1 });
  expect((await tock.task(id))?.runs[0]).toMatchObject({ state: 'failed', error: {} });
});

test('an error listener that throws or rejects does not stop the worker', async () => {
  const unheard: unknown[] = [];
  const hear = (error: unknown) => void unheard.push(error);
  process.on('unhandledRejection', hear);
  const tock = createTestTock();
  const fails = throws(new Error('no'));
  for (const on_error of [fails, async () => fails()]) {
    await tock.enqueueMany('q', payloadTasks(2));
    const worked = await tock.work('q', fails, { until: 'empty', on_error });
    expect(worked).toEqual({ ...noTasksDone, failed: 2 });
  }
  // Node reports unhandled rejections before setImmediate() runs its callback.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', hear);
  expect(unheard).toEqual([]);
});

test('a worker without a handler claims nothing', async () => {
  const tock = createTestTock();
  const id = await tock.enqueue('q', 1);
  const work = tock.work('q', undefined as never);
  await expect(work).rejects.toThrow('work: q needs a function as its handler');
  expect(await tock.task(id)).toMatchObject({ state: 'ready' });
});

test('stop_seconds may be infinite', async () => {
  vi.useFakeTimers();
  const tock = createTestTock();
  await tock.enqueue('q', 1);
  const stop = new AbortController();
  const work = tock.work(
    'q',
    async (_, { signal }) => {
      stop.abort();
      await sleep(5000);
      return signal.aborted;
    },
    { signal: stop.signal, stop_seconds: Number.POSITIVE_INFINITY },
  );
  await vi.runAllTimersAsync();
  expect(await work).toEqual({ ...noTasksDone, done: 1 });
  expect(await tock.task('1')).toMatchObject({ result: false });
});

test('a worker waits for Retry-After, five minutes at most', async () => {
  vi.useFakeTimers();
  const times: number[] = [];
  const begun = Date.now();
  const later = ['120', '999999999', undefined];
  const fetch = async () => {
    const answer = later[Math.min(times.push(Date.now() - begun), 3) - 1];
    return new Response(null, { status: 429, headers: answer ? { 'retry-after': answer } : {} });
  };
  const tock = createTock({ url: 'http://tock', key: 'k', fetch, retries: 0 });
  const work = tock.work('q', () => {}, { for_seconds: 430 });
  await vi.runAllTimersAsync();
  expect(await work).toEqual(noTasksDone);
  expect(times.slice(0, 4).map((ms) => Math.round(ms / 1000))).toEqual([0, 120, 420, 421]);
});

test('a worker does not keep polling a server that is not Tock', async () => {
  vi.useFakeTimers();
  const fetch = vi.fn(async () => Response.json({}));
  const tock = createTock({ url: 'http://else', key: 'k', fetch });
  const work = tock.work('q', () => {}, { for_seconds: 10 });
  await vi.runAllTimersAsync();
  expect(await work).toEqual(noTasksDone);
  expect(fetch.mock.calls.length).toBeLessThan(12);
});

test('a worker holds ten thousand tasks without a warning and without quadratic work', async () => {
  const warnings: string[] = [];
  const hear = ({ name }: Error) => void warnings.push(name);
  process.on('warning', hear);
  const tasks = Array.from({ length: 10_000 }, (_, n) => ({ id: `${n + 1}`, payload: n }));
  const all = { lease: 'l', leased_until: new Date().toISOString(), state: 'found', tasks };
  const none = { lease: null, tasks: [], state: 'empty', retry_after_seconds: 1 };
  let claims = 0;
  const fetch = async (url: string) =>
    Response.json(url.endsWith('/claim') ? (claims++ ? none : all) : { completed: 1, refused: [] });
  const tock = createTock({ url: 'http://tock', key: 'k', fetch });
  const prefetch = { low: 0, high: 10_000 };
  const before = process.cpuUsage();
  const worked = await tock.work('q', () => {}, { until: 'empty', prefetch });
  const { user } = process.cpuUsage(before);
  process.off('warning', hear);
  expect(worked).toEqual({ ...noTasksDone, done: 10_000 });
  expect(warnings).toEqual([]);
  // It takes 0.1 s of CPU time. If each task searched through all others, it would take 1.2 s.
  expect(user / 1e6).toBeLessThan(0.7);
});
