import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { deferred, expireLeases } from '../client/service.ts';
import { conditionTimeout } from '../timeout.ts';
import { there, useConsumerWorker } from './served.ts';

useConsumerWorker();
beforeEach(() => {
  there.proxy.hears = {};
});

/** A claim of a drain, or that of an enqueue for a free consumer. */
const isClaim = (text: string) => /tock\.(claim|http_enqueue_and_claim)\(/.test(text);
const state = async (id: string) => (await there.tock.task(id))?.state;
const done = (ids: string[]) => async () =>
  (await Promise.all(ids.map(state))).every((taskState) => taskState === 'done');

test('an enqueued task starts at once, and the answer does not wait for its end', async () => {
  const { open, opened } = deferred();
  there.onTold(() => opened);
  const id = await there.tock.enqueue('quick', 1);
  await vi.waitUntil(() => there.reports.includes(`/quick/${id}`), conditionTimeout);
  expect(await state(id)).toBe('running');
  open();
  await vi.waitUntil(done([id]), conditionTimeout);
});

test('a burst of enqueues starts few drains, and all tasks are done', async () => {
  const claimed = new Set<number>();
  there.proxy.hears = { sent: (text, connection) => isClaim(text) && claimed.add(connection) };
  const burst = 300;
  // Thirty callers send at a time, because a busy machine refuses more.
  const caller = async (from: number) => {
    for (let n = 0; n < 10; n++) await there.tock.enqueue('quick', from + n);
  };
  await Promise.all(Array.from({ length: burst / 10 }, (_, n) => caller(10 * n)));
  await vi.waitUntil(() => new Set(there.reports).size === burst, { timeout: conditionTimeout });
  expect(there.reports).toHaveLength(burst);
  // On a quiet machine there are a tenth as many claims as tasks. A slower burst has more pauses, so more claims.
  expect(claimed.size).toBeLessThan(burst / 2);
});

test('other calls that make tasks ready wake their consumers too', async () => {
  const id = await there.tock.enqueue('other', 1);
  await there.tock.move([id], 'quick');
  await vi.waitUntil(() => there.reports.includes(`/quick/${id}`), { timeout: conditionTimeout });
  await vi.waitUntil(done([id]), conditionTimeout);
});

test('a task that a woken consumer adds to another queue starts too', async () => {
  await there.tock.enqueue('leads', 1);
  await vi.waitUntil(() => there.reports.length > 0, { timeout: conditionTimeout });
  expect(there.reports[0]).toMatch(/quick/);
});

describe('a Worker killed after its claim loses no task and repeats no effect', () => {
  const isEffect = (text: string) => text.includes('public.effects');
  // A new Worker, because a drain of the previous test may still claim once more.
  beforeAll(async () => {
    await there.kill();
    await there.start();
  });
  const points: Record<string, (kill: () => void) => void> = {
    'as it sends a claim': (kill) => {
      there.proxy.hears.sent = (text) => isClaim(text) && kill();
    },
    'as its claim is answered': (kill) => {
      there.proxy.hears.answered = (text) => isClaim(text) && kill();
    },
    'as its handler has begun': (kill) => {
      there.onTold((path) => path.startsWith('/begun') && kill());
    },
    'before its completion is sent': (kill) => {
      there.proxy.hears.sending = (text) => {
        if (!isEffect(text)) return true;
        kill();
        return false;
      };
    },
    'as its completion is sent': (kill) => {
      there.proxy.hears.sent = (text) => isEffect(text) && kill();
    },
    'as its completion is answered': (kill) => {
      there.proxy.hears.answered = (text) => isEffect(text) && kill();
    },
    'after its completion': (kill) => {
      there.onTold((path) => path.startsWith('/effect') && kill());
    },
  };

  let count = 0;

  test.for(Object.keys(points))('%s', async (point) => {
    const killed = new Promise<void>((resolve) => {
      points[point]?.(() => {
        there.proxy.hears = {};
        there.onTold(() => {});
        resolve(there.kill());
      });
    });
    await Promise.all([there.tock.enqueue('once', 1).catch(() => {}), killed]);
    await there.start();
    await vi.waitUntil(async () => {
      const open = `select from pg_stat_activity
        where usename = 'tock_edge' and state <> 'idle' and datname = current_database()`;
      return (await there.owner.query(open)).rowCount === 0;
    }, conditionTimeout);
    await expireLeases(there.owner);
    expect((await there.scheduled()).status).toBe(200);
    const { tasks } = await there.tock.tasks({ queue: 'once' });
    const { rows } = await there.owner.query('select task from public.effects');
    expect(tasks).toHaveLength(++count);
    expect(tasks.every((task) => task.state === 'done')).toBe(true);
    expect(rows.map(({ task }) => task).sort()).toEqual(tasks.map((task) => task.id).sort());
  });
});

test('the cron trigger starts tasks that no wakeup has started', async () => {
  // A task that is enqueued in SQL wakes no consumer.
  const { rows } = await there.owner.query(`select tock.enqueue('quick', '[{}]') as ids`);
  const [id] = rows[0].ids;
  expect(there.reports).toEqual([]);
  expect((await there.scheduled()).status).toBe(200);
  expect(there.reports).toEqual([`/quick/${id}`]);
});
