import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { WorkerStopped } from '../../client/index.ts';
import type { ConsumerHandler } from '../../functions/consumers/context.ts';
import { defineConsumer } from '../../functions/consumers/define.ts';
import { drain } from '../../functions/consumers/drain.ts';
import type { Connect } from '../../functions/database/types.ts';
import { aborted, deferred, payloadTasks } from '../client/service.ts';
import { sleep } from '../sleep.ts';
import { type ConsumerService, startConsumerService } from './service.ts';

let there: ConsumerService;
beforeAll(async () => {
  there = await startConsumerService();
});
beforeEach(() => {
  there.errors.length = 0;
});
afterEach(() => void vi.useRealTimers());
afterAll(() => there.database.drop());

/** From here on only the test moves the time, so the time that the database takes for an answer does not count. */
const stopTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });

/** The result of a drain. `ms` milliseconds pass after a handler has started. */
async function afterBegun<T>(
  begun: Promise<unknown>,
  ms: number,
  draining: Promise<T>,
): Promise<T> {
  await Promise.race([begun, draining]);
  await vi.advanceTimersByTimeAsync(ms);
  return draining;
}

/** In a drain of 8 seconds, running tasks are released after this time, before the drain is over. */
const UNTIL_GIVEN_BACK_MS = 7400;

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
  const watching: Connect = (env, use) =>
    there.connect(env, (query) =>
      use((text, values = []) => {
        if (text.includes('tock.claim(')) requests.push(values[2]);
        return query(text, values);
      }),
    );
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
    'that ends when its signal aborts': (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
    'that hangs': () => new Promise(() => {}),
    async 'that waits again and again'() {
      while (!over) await sleep(1);
    },
  };

  test.for(Object.keys(handlers))('of a handler %s', async (name) => {
    stopTime();
    const queue = name.replaceAll(' ', '-');
    const { open, opened } = deferred();
    const ids = await there.tock.enqueueMany(queue, [{ payload: 1 }, { payload: 2 }]);
    let signal: AbortSignal | undefined;
    let left = Number.NaN;
    const handler: ConsumerHandler = (task, context) => {
      signal = context.signal;
      left = context.left();
      open();
      return handlers[name]?.(task, context);
    };
    const consumer = defineConsumer({ queue, batch: 2, handler });
    const started = performance.now();
    // The handlers never end, so only the drain can stop.
    const draining = there.drain([consumer], { seconds: 8 });
    const drained = await afterBegun(opened, UNTIL_GIVEN_BACK_MS, draining);
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

  test.for(Object.keys(handlers))('%s', async (name) => {
    stopTime();
    const queue = name.replaceAll(' ', '-');
    const [all, half] = [`${queue}-all`, `${queue}-half`];
    const long = await there.tock.enqueue(all, 1);
    const begun = await there.tock.enqueue(half, 1);
    const drainOf = (queue: string, enough_seconds: number) => {
      const { open, opened } = deferred();
      const handler: ConsumerHandler = (task, context) => {
        open();
        return handlers[name]?.(task, context);
      };
      const draining = there.drain([defineConsumer({ queue, handler })], {
        seconds: 8,
        enough_seconds,
      });
      return afterBegun(opened, UNTIL_GIVEN_BACK_MS, draining);
    };
    const drained = await drainOf(all, 1);
    expect(drained).toMatchObject({ failed: 1, released: 0, lost: 0 });
    const error = { name: 'TimedOut', message: expect.stringContaining('not ended within') };
    expect((await there.tock.task(long))?.runs[0]).toMatchObject({ state: 'failed', error });
    const less = await drainOf(half, 1000);
    expect(less).toMatchObject({ failed: 0, released: 1, lost: 0 });
    expect(await there.tock.task(begun)).toMatchObject({ state: 'ready', attempt: 1 });
  });
});

test('a drain that cannot reach the database any more ends in time', async () => {
  stopTime();
  await there.tock.enqueue('stuck', 1);
  const { open, opened } = deferred();
  const handler = () => {
    hang = true;
    open();
  };
  let hang = false;
  const draining = drain(
    (env, use) =>
      there.connect(env, (query, most) =>
        use((text, values) => (hang ? new Promise(() => {}) : query(text, values)), most),
      ),
    {},
    [defineConsumer({ queue: 'stuck', handler })],
    { seconds: 8 },
  );
  await afterBegun(opened, 8000, draining);
  expect(hang).toBe(true);
});

test('a connection that breaks is replaced, and no task is lost by it', async () => {
  await there.tock.enqueueMany('broken', [{ payload: 1 }, { payload: 2 }]);
  const handler = async () => {
    await there.owner.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tock_edge' and datname = current_database()",
    );
  };
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
    const drained = await drain(
      (env, use) =>
        there.connect(env, (query) =>
          use((text, values) => {
            requests++;
            return query(text, values);
          }, most),
        ),
      {},
      [defineConsumer({ queue, ...options, handler: () => sleep(ms * Math.random() + ms / 2) })],
    );
    expect(requests).toBeLessThanOrEqual(most);
    expect(drained).toMatchObject({ lost: 0, again_seconds: 0 });
    expect(drained.done).toBeGreaterThan(10);
    expect(drained.done).toBeLessThan(2500);
  });
});

test('a drain does not wait for a limit that admits no task soon', async () => {
  await there.owner.query(
    `select tock.put_queue('slow', '{"rate_limit": 1, "rate_seconds": 600}')`,
  );
  await there.tock.enqueueMany('slow', [{ payload: 1 }, { payload: 2 }]);
  let claims = 0;
  const counting: Connect = (env, use) =>
    there.connect(env, (query) =>
      use((text, values) => {
        if (text.includes('tock.claim(')) claims++;
        return query(text, values);
      }),
    );
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
