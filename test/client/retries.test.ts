import { afterEach, expect, test, vi } from 'vitest';
import { createTock, TockError } from '../../client/index.ts';

afterEach(() => void vi.useRealTimers());

const options = { url: 'http://tock', key: 'k' };

/** A fetch that gives these answers, then the last one repeatedly. `times` has the times of the calls. */
function answers(...all: [status: number, headers?: Record<string, string>][]) {
  const times: number[] = [];
  const fetch = async () => {
    times.push(Date.now());
    const [status, headers = {}] = all[Math.min(times.length, all.length) - 1] ?? [200];
    return new Response(status === 200 ? '{"ids":["1"]}' : '', { status, headers });
  };
  return { times, fetch };
}

test('a retry waits for Retry-After, else longer each time, with jitter', async () => {
  vi.useFakeTimers();
  const { times, fetch } = answers([503], [500], [429, { 'retry-after': '7' }], [502], [200]);
  const call = createTock({ ...options, fetch }).enqueue('q', 1);
  await vi.runAllTimersAsync();
  expect(await call).toBe('1');
  const most = [200, 400, 7200, 1600];
  const waits = times.slice(1).map((at, n) => at - (times[n] as number));
  for (const [n, least] of [100, 200, 7000, 800].entries()) {
    expect(waits[n]).toBeGreaterThanOrEqual(least);
    expect(waits[n]).toBeLessThanOrEqual(most[n] as number);
  }
});

test('a call ends at its deadline or after its retries, with the last error', async () => {
  vi.useFakeTimers();
  const far = answers([503, { 'retry-after': '100' }]);
  const late = createTock({ ...options, fetch: far.fetch, deadline_seconds: 50 }).enqueue('q', 1);
  await expect(late).rejects.toMatchObject({ status: 503 });
  expect(far.times).toHaveLength(1);
  const busy = answers([503]);
  const often = createTock({ ...options, fetch: busy.fetch, retries: 2 }).enqueue('q', 1);
  await Promise.all([expect(often).rejects.toMatchObject({ status: 503 }), vi.runAllTimersAsync()]);
  expect(busy.times).toHaveLength(3);
});

test.each([429, 500, 502, 503, 504, 520, 524, 530])(
  'a call that is refused with %i is retried',
  async (status) => {
    const { times, fetch } = answers([status], [200]);
    expect(await createTock({ ...options, fetch }).enqueue('q', 1)).toBe('1');
    expect(times).toHaveLength(2);
  },
);

test.each([400, 401, 403, 404, 409, 413, 415, 422, 501, 507])(
  'a call that is refused with %i is not retried',
  async (status) => {
    const { times, fetch } = answers([status]);
    const { call } = createTock({ ...options, fetch });
    const refused = call('POST', '/v1/queues/q/tasks', '{');
    await expect(refused).rejects.toBeInstanceOf(TockError);
    await expect(refused).rejects.toMatchObject({ name: 'TockError', status });
    expect(times).toHaveLength(1);
  },
);

test('only the first try of a claim with an id of its own says that the id is new', async () => {
  const sent: unknown[] = [];
  const body = { lease: null, tasks: [], state: 'empty', retry_after_seconds: 0 };
  const fetch = async (_: string, { headers }: RequestInit) => {
    sent.push(new Headers(headers).get('tock-first-try'));
    return Response.json(body, { status: sent.length === 1 ? 503 : 200 });
  };
  const claims = createTock({ ...options, fetch });
  await claims.claim('q');
  await claims.claim('q', { request_id: 'mine' });
  expect(sent).toEqual(['true', null, null]);
});

test("a deadline may be shorter than an attempt's timeout, or infinite", async () => {
  const { fetch } = answers([200]);
  for (const deadline_seconds of [5, Number.POSITIVE_INFINITY]) {
    const limits = { retries: 0, deadline_seconds, timeout_seconds: 6 * deadline_seconds };
    expect(await createTock({ ...options, fetch, ...limits }).enqueue('q', 1)).toBe('1');
  }
});

test("an answer of a proxy is reported as not Tock's", async () => {
  for (const text of ['<html>Log in', 'null', '"ok"', '']) {
    const fetch = async () => new Response(text);
    const call = createTock({ ...options, fetch, retries: 0 }).enqueue('q', 1);
    const message = `http://tock does not answer like a Tock server: ${text}`;
    await expect(call).rejects.toMatchObject({ name: 'TockError', status: 0, message });
  }
});

test.each(['"no"', '[]', 'null', '<html>', '{"detail":[{"loc":"body"}],"field":3}'])(
  "a refusal that is not Tock's problem document is still a refusal: %s",
  async (text) => {
    const fetch = async () => new Response(text, { status: 403 });
    const call = createTock({ ...options, fetch }).enqueue('q', 1);
    await expect(call).rejects.toMatchObject({ status: 403, message: 'status 403' });
  },
);

test('an invalid URL or key is refused at once, and the error does not contain the key', async () => {
  const key = 'tock_secret';
  for (const url of ['', 'localhost:8787', 'ftp://tock']) {
    expect(() => createTock({ url, key })).toThrow(/^(Invalid URL|url: )/);
  }
  for (const odd of [`${key}\n${key}`, `\u201c${key}\u201d`]) {
    expect(() => createTock({ url: 'http://tock', key: odd })).toThrow(/^key: (?!.*secret)/);
  }
  const { fetch } = answers([200]);
  const tock = createTock({ url: 'http://tock/', key: `${key}\n`, fetch });
  expect(await tock.enqueue('q', 1)).toBe('1');
});

test('a server that never answers is reported as unreachable', async () => {
  const fetch = (_: string, { signal }: RequestInit) =>
    new Promise<Response>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const tock = createTock({ ...options, fetch, timeout_seconds: 0.01, retries: 1 });
  const message = expect.stringMatching(/^http:\/\/tock does not answer: /);
  await expect(tock.task('1')).rejects.toMatchObject({ status: 0, message });
});
