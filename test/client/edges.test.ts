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

const unspeakable = {
  get() {
    throw new Error('no text');
  },
};

const thrown: Record<string, unknown> = {
  nothing: undefined,
  null: null,
  'an object without a prototype': Object.create(null),
  'a Proxy that was revoked': revoked(),
  'an error whose message throws': Object.defineProperty(new Error(), 'message', unspeakable),
  'an error whose message is no text': Object.assign(new Error(), { message: Object.create(null) }),
  'a symbol': Symbol('s'),
  'a time that is no number': new RetryIn(1n as never),
};

test.each(Object.entries(thrown))('if a handler throws %s, only its task fails', async (_, odd) => {
  const tock = createTestTock();
  const [id = ''] = await tock.enqueueMany('q', payloadTasks(3));
  const fails = async ({ id: own }: { id: string }) => {
    if (own === id) throw odd;
  };
  const worked = await tock.work('q', fails, { until: 'empty', prefetch: { low: 0, high: 3 } });
  expect(worked).toEqual({ ...noTasksDone, done: 2, failed: 1 });
  expect((await tock.task(id))?.runs[0]).toMatchObject({ state: 'failed', error: {} });
});

const returned: Record<string, unknown> = {
  'a Proxy that was revoked': { in: revoked() },
  'what throws when it is spelled': {
    toJSON() {
      throw null;
    },
  },
};

test.each(Object.entries(returned))(
  'if a handler returns %s, only its task fails',
  async (_, odd) => {
    const tock = createTestTock();
    const [id] = await tock.enqueueMany('q', payloadTasks(3));
    const returns = (task: { id: string }) => (task.id === id ? odd : undefined);
    const worked = await tock.work('q', returns, { until: 'empty', prefetch: { low: 0, high: 3 } });
    expect(worked).toEqual({ ...noTasksDone, done: 2, failed: 1 });
  },
);

test('an error listener that rejects does not stop the worker', async () => {
  const unheard: unknown[] = [];
  const hear = (error: unknown) => void unheard.push(error);
  process.on('unhandledRejection', hear);
  const tock = createTestTock();
  await tock.enqueue('q', 1);
  const fails = async () => {
    throw new Error('no');
  };
  expect(await tock.work('q', fails, { until: 'empty', on_error: fails })).toMatchObject({
    failed: 1,
  });
  // Node reports unhandled rejections before setImmediate() runs its callback.
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', hear);
  expect(unheard).toEqual([]);
});

test('a worker without a handler claims nothing', async () => {
  const tock = createTestTock();
  const id = await tock.enqueue('q', 1);
  await expect(tock.work('q', undefined as never)).rejects.toThrow(
    'work: q needs a function as its handler',
  );
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
  let times = 0;
  const fetch = async () => {
    times++;
    return Response.json({});
  };
  const work = createTock({ url: 'http://else', key: 'k', fetch }).work('q', () => {}, {
    for_seconds: 10,
  });
  await vi.runAllTimersAsync();
  expect(await work).toEqual(noTasksDone);
  expect(times).toBeLessThan(12);
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
  const before = process.cpuUsage();
  const worked = await tock.work('q', () => {}, {
    until: 'empty',
    prefetch: { low: 0, high: 10_000 },
  });
  const { user } = process.cpuUsage(before);
  process.off('warning', hear);
  expect(worked).toEqual({ ...noTasksDone, done: 10_000 });
  expect(warnings).toEqual([]);
  // It takes 0.1 s of CPU time. If each task searched through all others, it would take 1.2 s.
  expect(user / 1e6).toBeLessThan(0.7);
});
