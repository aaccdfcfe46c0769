import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkerStopped } from '../../client/index.ts';
import type { ConsumerHandler } from '../../functions/consumers/context.ts';
import { defineConsumer } from '../../functions/consumers/define.ts';
import { type DrainOptions, drain } from '../../functions/consumers/drain.ts';
import { aborted, deferred, payloadTasks } from '../client/service.ts';
import { sleep } from '../sleep.ts';
import { there, useConsumerService } from './service.ts';

useConsumerService();
beforeEach(() => {
  there.errors.length = 0;
});
afterEach(() => void vi.useRealTimers());

/** From here on only the test moves the time, so the time that the database takes for an answer does not count. */
const stopTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });

/**
 * The result of a drain of 8 seconds. After its handler has started, so much time passes that running tasks are
 * released, before the drain is over.
 */
async function drainedAfterBegun(queue: string, handler: ConsumerHandler, options: DrainOptions) {
  const { open, opened } = deferred();
  const own: ConsumerHandler = (task, context) => {
    open();
    return handler(task, context);
  };
  const consumer = defineConsumer({ queue, batch: 2, handler: own });
  const draining = there.drain([consumer], { seconds: 8, ...options });
  await Promise.race([opened, draining]);
  await vi.advanceTimersByTimeAsync(7400);
  return draining;
}

const none = { done: 0, failed: 0, released: 0, cancelled: 0, lost: 0, again_seconds: null };

test('a drain works until its queues are empty, including tasks that its handlers add', async () => {
  const seen: unknown[] = [];
  const first = defineConsumer<number>({
    queue: 'first',
    concurrency: 4,
    handler({ payload }, { spawn }) {
      seen.push(payload);
      if (payload < 10) spawn({ tasks: [{ payload: payload + 10 }] });
      else spawn({ queue: 'other', tasks: [{ payload: 'y' }] });
    },
  });
  const other = defineConsumer({ queue: 'other', handler: (task) => void seen.push(task.payload) });
  await there.tock.enqueueMany('first', [{ payload: 1 }, { payload: 2 }]);
  await there.tock.enqueue('other', 'x');
  expect(await there.drain([first, other])).toEqual({ ...none, done: 7 });
  expect(seen.sort()).toEqual([1, 11, 12, 2, 'x', 'y', 'y']);
});

test('a claim takes at most a batch, and at most as many tasks as handlers are free', async () => {
  await there.tock.enqueueMany('batches', payloadTasks(9));
  const requests: unknown[] = [];
  const watching = there.watched((text, values) => {
    if (text.includes('tock.claim(')) requests.push(values[2]);
  });
  const running: (() => void)[] = [];
  let most = 0;
  let begun = 0;
  // When five handlers run, one of them ends. A sixth that ran at the same time would raise `most`.
  const handler = async () => {
    const { open, opened } = deferred();
    most = Math.max(most, running.push(open));
    if (++begun === 9) for (const end of running.splice(0)) end();
    else if (running.length >= 5) running.shift()?.();
    await opened;
  };
  const batches = defineConsumer({ queue: 'batches', batch: 3, concurrency: 5, handler });
  expect(await drain(watching, {}, [batches])).toMatchObject({ done: 9 });
  expect(most).toBe(5);
  expect(requests.slice(0, 2)).toEqual([3, 2]);
});

describe('a drain ends when its time is up, and releases tasks that have not ended', () => {
  let over = false;
  afterAll(() => {
    over = true;
  });
  const handlers: Record<string, ConsumerHandler> = {
    async 'that ends when its signal aborts'(_, { signal }) {
      throw await aborted(signal);
    },
    'that hangs': () => new Promise(() => {}),
    async 'that waits again and again'() {
      while (!over) await sleep(1);
    },
  };

  test.for(Object.keys(handlers))('of a handler %s', async (name) => {
    stopTime();
    const queue = name.replaceAll(' ', '-');
    const ids = await there.tock.enqueueMany(queue, payloadTasks(2));
    let signal: AbortSignal | undefined;
    let left = Number.NaN;
    const handler: ConsumerHandler = (task, context) => {
      signal = context.signal;
      left = context.left();
      return handlers[name]?.(task, context);
    };
    const started = performance.now();
    // The handlers never end, so only the drain can stop.
    const drained = await drainedAfterBegun(queue, handler, {});
    expect(performance.now() - started).toBeGreaterThan(4000);
    expect(drained).toEqual({ ...none, released: 2, again_seconds: 0 });
    expect(signal?.reason).toBeInstanceOf(WorkerStopped);
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(7);
    for (const id of ids) {
      const task = await there.tock.task(id);
      expect(task).toMatchObject({ state: 'ready', attempt: 1, lost: 0 });
    }
  });
});

describe('a handler that needs more time than an invocation has fails', () => {
  const handlers: Record<string, ConsumerHandler> = {
    'and hangs': () => new Promise(() => {}),
    'and throws when its signal aborts': async (_, { signal }) => {
      await aborted(signal);
      signal.throwIfAborted();
    },
  };

  test.for(Object.entries(handlers))('%s', async ([name, handler]) => {
    stopTime();
    const queue = name.replaceAll(' ', '-');
    const [all, half] = [`${queue}-all`, `${queue}-half`];
    const long = await there.tock.enqueue(all, 1);
    const begun = await there.tock.enqueue(half, 1);
    const drained = await drainedAfterBegun(all, handler, { enough_seconds: 1 });
    expect(drained).toMatchObject({ failed: 1, released: 0, lost: 0 });
    const error = { name: 'TimedOut', message: expect.stringContaining('not ended within') };
    expect((await there.tock.task(long))?.runs[0]).toMatchObject({ state: 'failed', error });
    const less = await drainedAfterBegun(half, handler, { enough_seconds: 1000 });
    expect(less).toMatchObject({ failed: 0, released: 1, lost: 0 });
    expect(await there.tock.task(begun)).toMatchObject({ state: 'ready', attempt: 1 });
  });
});

test('a drain that cannot reach the database any more ends in time', async () => {
  stopTime();
  await there.tock.enqueue('stuck', 1);
  const { open, opened } = deferred();
  let hang = false;
  const handler = () => {
    hang = true;
    open();
  };
  const silent = there.watched(() => (hang ? new Promise(() => {}) : null));
  const stuck = [defineConsumer({ queue: 'stuck', handler })];
  const draining = drain(silent, {}, stuck, { seconds: 8 });
  await Promise.race([opened, draining]);
  await vi.advanceTimersByTimeAsync(8000);
  await draining;
  expect(hang).toBe(true);
});

test('a connection that breaks is replaced, and no task is lost by it', async () => {
  await there.tock.enqueueMany('broken', [{ payload: 1 }, { payload: 2 }]);
  const kill = `select pg_terminate_backend(pid) from pg_stat_activity
    where usename = 'tock_edge' and datname = current_database()`;
  const handler = async () => void (await there.owner.query(kill));
  const superUser = await there.database.connect(there.database.superUrl);
  await superUser.query('grant pg_signal_backend to tock');
  const drained = await there.drain([defineConsumer({ queue: 'broken', handler })]);
  expect(drained).toEqual({ ...none, done: 2 });
});

describe('with a limit of statements a drain reserves some for its outcomes', () => {
  test.concurrent.for([
    ['of many claims', {}, 0, 45],
    ['of many leases', { batch: 1, concurrency: 40 }, 1000, 45],
    ['of a large claim', { batch: 100, concurrency: 2 }, 210, 22],
    ['of many handlers', { batch: 40, concurrency: 40 }, 1000, 45],
  ] as const)('%s', async ([name, options, ms, most], { expect }) => {
    const queue = name.replaceAll(' ', '-');
    // The drain's statements cannot complete so many tasks, even with many results in one statement.
    await there.tock.enqueueMany(queue, payloadTasks(2500));
    let requests = 0;
    const handler = () => sleep(ms * Math.random() + ms / 2);
    const consumer = defineConsumer({ queue, ...options, handler });
    const counting = there.watched(() => requests++, most);
    const drained = await drain(counting, {}, [consumer]);
    expect(requests).toBeLessThanOrEqual(most);
    expect(drained).toMatchObject({ lost: 0, again_seconds: 0 });
    expect(drained.done).toBeGreaterThan(10);
    expect(drained.done).toBeLessThan(2500);
  });
});

test('a drain does not wait for a limit that admits no task soon', async () => {
  const policy = { rate_limit: 1, rate_seconds: 600 };
  await there.owner.query("select tock.put_queue('slow', $1)", [policy]);
  await there.tock.enqueueMany('slow', [{ payload: 1 }, { payload: 2 }]);
  let claims = 0;
  const counting = there.watched((text) => text.includes('tock.claim(') && claims++);
  const drained = await drain(counting, {}, [defineConsumer({ queue: 'slow', handler: () => {} })]);
  expect(claims).toBeLessThan(5);
  expect(drained.done).toBe(1);
  expect(drained.again_seconds).toBeGreaterThan(100);
});

test('a consumer that cannot claim does not stop the others, and its error is reported', async () => {
  await there.tock.enqueue('fine', 1);
  const consumers = ['no such name!', 'fine'].map((queue) =>
    defineConsumer({ queue, handler: () => {} }),
  );
  await expect(there.drain(consumers)).rejects.toThrow(/name/);
  const [task] = (await there.tock.tasks({ queue: 'fine' })).tasks;
  expect(task?.state).toBe('done');
});
