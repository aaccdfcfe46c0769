import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createTock, LeaseLost, type Tock, TockError } from '../../client/index.ts';
import { type ClientService, startClientService } from './service.ts';

let there: ClientService;
let tock: Tock;
let count = 0;
const queue = () => `call${++count}`;

beforeAll(async () => {
  there = await startClientService();
  tock = createTock(there.options);
});
afterAll(() => there.database.drop());
afterEach(() => void vi.useRealTimers());

const depth = async (q: string) => {
  const { rows } = await there.owner.query('select ready, running from tock.queue_stats($1)', [q]);
  return { ready: Number(rows[0].ready), running: Number(rows[0].running) };
};

test('an enqueue adds its tasks once, even if answers are lost', async () => {
  const q = queue();
  there.fate('lost', 'refused', 'unsent', 'lost');
  const id = await tock.enqueue(q, { n: 1 });
  expect(await tock.task(id)).toMatchObject({ payload: { n: 1 }, state: 'ready' });
  there.fate('lost');
  const ids = await tock.enqueueMany(q, [{ payload: 1 }, { payload: 2, priority: 0 }]);
  expect(new Set(ids).size).toBe(2);
  expect(await depth(q)).toEqual({ ready: 3, running: 0 });
});

test('a claim whose answer was lost returns the same tasks and leases no others', async () => {
  const q = queue();
  await tock.enqueueMany(q, [{ payload: 1 }, { payload: 2 }]);
  there.fate('lost', 'lost');
  const lease = await tock.claim(q);
  expect(lease?.tasks).toMatchObject([{ payload: 1 }]);
  expect(await depth(q)).toEqual({ ready: 1, running: 1 });
  there.fate('lost');
  const { leases } = await tock.claimAny([q, { queue: queue(), weight: 2 }], { limit: 5 });
  expect(leases.map((leasedTasks) => leasedTasks.tasks.map((task) => task.payload))).toEqual([[2]]);
  expect(await depth(q)).toEqual({ ready: 0, running: 2 });
});

test('an outcome whose answer was lost is reported again and counts once', async () => {
  const q = queue();
  await tock.enqueueMany(q, [{ payload: 1 }, { payload: 2 }, { payload: 3 }]);
  const lease = await tock.claim(q, { limit: 3 });
  if (!lease) throw new Error('no lease');
  const [a, b, c] = lease.tasks.map(({ id }) => id) as [string, string, string];
  const spawn = { tasks: [{ payload: 'child' }] };
  there.fate('lost', 'lost');
  expect(await lease.complete([{ id: a, result: 'r', spawn }])).toMatchObject({ completed: 1 });
  there.fate('lost');
  expect(await lease.fail([{ id: b, error: 'e', fatal: true }])).toMatchObject({ dead: 1 });
  there.fate('lost');
  expect(await lease.release([c])).toMatchObject({ released: 1 });
  expect(await depth(q)).toEqual({ ready: 2, running: 0 });
});

test('a rerun whose answer was lost makes one task', async () => {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  await tock.work(q, () => {}, { until: 'empty' });
  there.fate('lost');
  const [again] = await tock.rerun([id], { reason: 'why not' });
  expect((await tock.task(id))?.reruns).toMatchObject([{ id: again?.rerun_id, reason: 'why not' }]);
});

test('a pool shows its members, and a stale fencing token unassigns nothing', async () => {
  const pool = queue();
  await tock.pools.join(pool, 'w1');
  const { fencing_token } = await tock.pools.assignTask(pool, 'leader');
  expect(await tock.pools.listMembers(pool)).toMatchObject([{ worker: 'w1', task: 'leader' }]);
  expect(await tock.pools.listPools()).toContainEqual(expect.objectContaining({ pool, held: 1 }));
  const stale = { fencing_token: `${Number(fencing_token) - 1}` };
  expect(await tock.pools.unassignTask(pool, 'leader', stale)).toBe(false);
  expect(await tock.pools.unassignTask(pool, 'unknown')).toBe(false);
  const current = { fencing_token: fencing_token as string };
  expect(await tock.pools.unassignTask(pool, 'leader', current)).toBe(true);
  expect(await tock.pools.unassignTask(pool, 'leader', current)).toBe(false);
  expect(await tock.pools.assignTasks(pool, ['a', 'b'])).toMatchObject([
    { task: 'a', state: 'assigned' },
    { task: 'b', state: 'none' },
  ]);
  expect(await tock.pools.addTasks(pool, ['c', 'd'])).toBe(2);
});

test('a worker whose every second answer is lost does each task once', async () => {
  const q = queue();
  await tock.enqueueMany(
    q,
    [1, 2, 3, 4].map((payload) => ({ payload })),
  );
  const done: unknown[] = [];
  there.fate(
    ...Array.from({ length: 40 }, (_, n) => (n % 2 ? ('fine' as const) : ('lost' as const))),
  );
  const worked = await tock.work(q, (task) => void done.push(task.payload), { until: 'empty' });
  there.fate();
  expect(worked).toMatchObject({ done: 4, lost: 0 });
  expect(done).toEqual([1, 2, 3, 4]);
  expect(await depth(q)).toEqual({ ready: 0, running: 0 });
});

test('a refusal has its field and hint, and is not retried', async () => {
  there.seen.length = 0;
  const q = queue();
  const bad = tock.enqueue(q, 1, { priority: 12 });
  await expect(bad).rejects.toMatchObject({
    name: 'TockError',
    status: 422,
    field: 'priority',
    message: 'priority: a whole number from 0 to 9',
    hint: expect.stringMatching(/openapi\.json/),
  });
  const id = '00000000-0000-4000-8000-00000000000f';
  await expect(tock.leases.complete(id)).rejects.toBeInstanceOf(LeaseLost);
  await expect(tock.change(await done(), { priority: 1 })).rejects.toMatchObject({ status: 409 });
  expect(await tock.task('5242880')).toBeNull();
  const refused = there.seen.filter(
    ({ route }) => route.includes(`/${q}/`) || /complete/.test(route),
  );
  expect(refused).toHaveLength(2);
});

async function done(): Promise<string> {
  const q = queue();
  const id = await tock.enqueue(q, 1);
  await tock.work(q, () => {}, { until: 'empty' });
  return id;
}

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
  const call = createTock({ url: 'http://tock/', key: 'k', fetch }).enqueue('q', 1);
  await vi.runAllTimersAsync();
  expect(await call).toBe('1');
  const waits = times.slice(1).map((at, n) => at - (times[n] as number));
  const between = (n: number, low: number, high: number) => {
    expect(waits[n]).toBeGreaterThanOrEqual(low);
    expect(waits[n]).toBeLessThanOrEqual(high);
  };
  between(0, 100, 200);
  between(1, 200, 400);
  between(2, 7000, 7200);
  between(3, 800, 1600);
});

test('a call ends at its deadline or after its retries, with the last error', async () => {
  vi.useFakeTimers();
  const options = { url: 'http://tock', key: 'k' };
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
    expect(await createTock({ url: 'http://tock', key: 'k', fetch }).enqueue('q', 1)).toBe('1');
    expect(times).toHaveLength(2);
  },
);

test('only the first try of a claim with an id of its own says that the id is new', async () => {
  const sent: unknown[] = [];
  const fetch = async (_: string, { headers }: RequestInit) => {
    sent.push(new Headers(headers).get('tock-first-try'));
    const body = {
      lease: null,
      leased_until: null,
      tasks: [],
      state: 'empty',
      retry_after_seconds: 0,
    };
    return new Response(JSON.stringify(body), { status: sent.length === 1 ? 503 : 200 });
  };
  const claims = createTock({ url: 'http://tock', key: 'k', fetch });
  await claims.claim('q');
  await claims.claim('q', { request_id: 'mine' });
  expect(sent).toEqual(['true', null, null]);
});

test("a deadline may be shorter than an attempt's timeout, or infinite", async () => {
  for (const deadline_seconds of [5, Number.POSITIVE_INFINITY]) {
    const { fetch } = answers([200]);
    const options = { url: 'http://tock', key: 'k', fetch, retries: 0, deadline_seconds };
    const timeout_seconds = 6 * deadline_seconds;
    expect(await createTock({ ...options, timeout_seconds }).enqueue('q', 1)).toBe('1');
  }
});

test('a POST by call() has its effect once, even if its answer was lost', async () => {
  const q = queue();
  const body = { payload: 1 };
  for (const requestBody of [body, JSON.stringify(body), { ...body, request_id: 'mine' }]) {
    there.fate('lost', 'lost');
    await tock.call('POST', `/v1/queues/${q}/tasks`, requestBody);
  }
  expect(await depth(q)).toEqual({ ready: 3, running: 0 });
});

test('a body that is not JSON is refused by the server', async () => {
  const { fetch } = answers([400]);
  const { call } = createTock({ url: 'http://tock', key: 'k', fetch });
  await expect(call('POST', '/v1/queues/q/tasks', '{')).rejects.toMatchObject({
    name: 'TockError',
    status: 400,
  });
});

test("an answer of a proxy is reported as not Tock's", async () => {
  for (const text of ['<html>Log in', 'null', '"ok"', '']) {
    const fetch = async () => new Response(text);
    const call = createTock({ url: 'http://else', key: 'k', fetch, retries: 0 }).enqueue('q', 1);
    await expect(call).rejects.toMatchObject({
      name: 'TockError',
      status: 0,
      message: `http://else does not answer like a Tock server: ${text}`,
    });
  }
});

test.each(['"no"', '[]', 'null', '<html>', '{"detail":[{"loc":"body"}],"field":3}'])(
  "a refusal that is not Tock's problem document is still a refusal: %s",
  async (text) => {
    const fetch = async () => new Response(text, { status: 403 });
    const call = createTock({ url: 'http://else', key: 'k', fetch }).enqueue('q', 1);
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
  expect(await createTock({ url: 'http://tock/', key: `${key}\n`, fetch }).enqueue('q', 1)).toBe(
    '1',
  );
});

test.each([400, 401, 403, 404, 409, 413, 415, 422, 501, 507])(
  'a call that is refused with %i is not retried',
  async (status) => {
    const { times, fetch } = answers([status]);
    const call = createTock({ url: 'http://tock', key: 'k', fetch }).enqueue('q', 1);
    await expect(call).rejects.toBeInstanceOf(TockError);
    expect(times).toHaveLength(1);
  },
);

test('a server that never answers is reported as unreachable', async () => {
  const fetch = (_: string, { signal }: RequestInit) =>
    new Promise<Response>((_resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  const options = { url: 'http://tock', key: 'k', fetch, timeout_seconds: 0.01, retries: 1 };
  await expect(createTock(options).task('1')).rejects.toMatchObject({
    status: 0,
    message: expect.stringMatching(/^http:\/\/tock does not answer: /),
  });
});

test('a lossless parser keeps numbers that no double can hold', async () => {
  const q = queue();
  const parse = (json: string) =>
    JSON.parse(json.replace(/"payload": ?(\d{17,})/, '"payload":"$1"'));
  const exact = createTock({ ...there.options, parse });
  await tock.call('POST', `/v1/queues/${q}/tasks`, '{"payload":12345678901234567890}');
  expect((await exact.claim(q))?.tasks).toMatchObject([{ payload: '12345678901234567890' }]);
});

test('tasks, leases and reasons for late tasks are listed', async () => {
  const q = queue();
  const [id, other] = await tock.enqueueMany(q, [{ payload: 1, tenant: 'ann' }, { payload: 2 }]);
  const page = await tock.tasks({ queue: q, tenant: 'ann' });
  expect(page.tasks).toMatchObject([{ id, queue: q, state: 'ready' }]);
  expect((await tock.tasks({ limit: 1 })).tasks).toMatchObject([{ id: other }]);
  await tock.claim(q, { worker: 'one' });
  const { leases } = await tock.openLeases({ queue: q, worker: 'one' });
  expect(leases).toMatchObject([{ queue: q, worker: 'one', runs: 1, late: false }]);
  expect(await tock.openLeases({ queue: q, worker: 'two' })).toMatchObject({ leases: [] });
  expect(await tock.workers({ queue: q })).toMatchObject([{ worker: 'one', open_leases: 1 }]);
  expect(await tock.why(q)).toEqual([]);
  await tock.call('PUT', `/v1/queues/${q}`, { paused: true });
  await tock.enqueue(q, 3);
  expect(await tock.why(q)).toMatchObject([{ finding: expect.stringContaining('paused') }]);
  await expect(tock.archived({ queue: q })).rejects.toMatchObject({ status: 409 });
});
