import { beforeEach, expect, test, vi } from 'vitest';
import { type AlarmState, createAlarm } from '../../functions/alarm/alarm.ts';
import type { Consumer } from '../../functions/consumers/define.ts';
import { defineConsumer } from '../../functions/consumers/define.ts';
import type { Connect } from '../../functions/database/types.ts';
import { deferred, payloadTasks } from '../client/service.ts';
import { conditionTimeout } from '../timeout.ts';
import { there, useConsumerService } from './service.ts';

useConsumerService();
beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {});
  // The object's clock stands still, so that its alarm has the same time on a slow machine.
  vi.useFakeTimers({ toFake: ['Date'] });
  return () => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  };
});

/** The state of a Durable Object, with its storage and its alarm. */
function state() {
  const kept = new Map<string, unknown>();
  let at: number | null = null;
  const storage: AlarmState['storage'] = {
    getAlarm: async () => at,
    setAlarm: async (to) => {
      at = to;
    },
    deleteAlarm: async () => {
      at = null;
    },
    get: async (key) => kept.get(key),
    put: async (key, value) => void kept.set(key, value),
    delete: async (key) => kept.delete(key),
  };
  return {
    storage,
    /** Milliseconds until the alarm; null without one. */
    rings: () => (at === null ? null : at - Date.now()),
    set: (ms: number) => {
      at = Date.now() + ms;
    },
    taken: () => {
      at = null;
    },
  };
}

const message = () => {
  const body = JSON.stringify({ changed: null, passOn: [] });
  return new Request('https://alarm/', { method: 'POST', body });
};

function alarmed(connect: Connect = there.connect, consumers: Consumer[] = []) {
  const held = state();
  const Alarm = createAlarm(connect, consumers, 25);
  const alarm = new Alarm(held, {});
  /** Fires the alarm on a new object, because Cloudflare evicts an idle one. */
  const ring = async () => {
    held.taken();
    await new Alarm(held, {}).alarm();
  };
  return { ...held, alarm, ring };
}

/** A database that refuses some statements. */
const refusing = (refuses: (text: string) => boolean, code = 'XX000') =>
  there.watched((text) => {
    if (refuses(text)) throw Object.assign(new Error('refused'), { code });
  });
const isTick = (text: string) => text.includes('tock.tick');

/** The seconds after which the alarm fires again, for each time that it fires. */
async function waitsOf(connect: Connect): Promise<number[]> {
  const { ring, rings } = alarmed(connect);
  const waits: number[] = [];
  for (let n = 0; n < 25; n++) {
    await ring();
    waits.push(Math.round((rings() ?? 0) / 1000));
  }
  return waits;
}

test('the alarm backs off while the database is unreachable, and while work stays due after each tick', async () => {
  const unreachable = await waitsOf(() => Promise.reject(new Error('nobody there')));
  expect(unreachable.slice(0, 4)).toEqual([1, 2, 4, 8]);
  expect(unreachable.at(11)).toBe(300);
  const stuck = await waitsOf((_env, use) =>
    use(async () => [{ ms: -5000, at: '2026-11-22 12:00:00+00' }]),
  );
  expect(stuck.slice(0, 14)).toEqual([...Array(11).fill(1), 2, 4, 8]);
  expect(stuck.at(-1)).toBe(300);
});

test('an alarm that finds nothing due sets no further alarm, and a duplicate does no harm', async () => {
  const { ring, rings } = alarmed();
  await ring();
  await ring();
  expect(rings()).toBe(null);
  await there.tock.enqueue('later', 1, { delay_seconds: 1000 });
  await ring();
  await ring();
  expect(rings()).toBeGreaterThan(900_000);
  expect(rings()).toBeLessThan(1_001_000);
});

test('if pg_cron runs only each minute, the alarm fires every five seconds for tasks from SQL', async () => {
  const { owner } = there;
  const { ring, rings } = alarmed();
  const cron = async (version: string) =>
    owner.query(
      `create or replace function tock.cron_version() returns text language sql as $$select '${version}'$$`,
    );
  const own = "select pg_get_functiondef('tock.cron_version()'::regprocedure) as text";
  const original = (await owner.query(own)).rows[0].text;
  const waiting = async () =>
    (await owner.query("select from tock.waiting where queue = 'by_sql'")).rowCount;
  await cron('1.4-1');
  await ring();
  expect(rings()).toBeLessThan(6000);
  expect(rings()).toBeGreaterThan(0);
  await owner.query(`select tock.enqueue('by_sql', '[{"concurrency_key": "g"}]')`);
  expect(await waiting()).toBe(1);
  await owner.query(
    "update tock.maintenance_jobs set last_started_at = null where name = 'promote'",
  );
  await ring();
  expect(await waiting()).toBe(0);
  await cron('1.6');
  await ring();
  expect(rings() ?? Number.POSITIVE_INFINITY).toBeGreaterThan(6000);
  await owner.query(original);
});

test('a notification sets the alarm one second later, unless an earlier one is set', async () => {
  const { alarm, rings, ring, set } = alarmed();
  set(60_000);
  await alarm.fetch(message());
  expect(rings()).toBeLessThanOrEqual(1000);
  set(300);
  await alarm.fetch(message());
  expect(rings()).toBeLessThanOrEqual(300);
  // That one fires too soon after the notification, so another one follows.
  await ring();
  expect(rings()).toBe(1000);
});

test('a notification during an alarm is not lost', async () => {
  const { alarm, rings, ring } = alarmed(async (env, use) => {
    await alarm.fetch(message());
    return there.connect(env, use);
  });
  await ring();
  expect(rings()).toBeLessThanOrEqual(1000);
});

test('tasks that become due while consumers work are started', async () => {
  const begun: string[] = [];
  const handler = async ({ queue }: { queue: string }) => {
    begun.push(queue);
    if (queue === 'long')
      await vi.waitUntil(() => begun.includes('due'), { timeout: conditionTimeout });
  };
  const consumers = ['long', 'due'].map((queue) => defineConsumer({ queue, handler }));
  const ids = [
    await there.tock.enqueue('long', 1),
    await there.tock.enqueue('due', 1, { delay_seconds: 1 }),
  ];
  await alarmed(there.connect, consumers).ring();
  expect(begun).toEqual(['long', 'due']);
  for (const id of ids) expect(await there.tock.task(id)).toMatchObject({ state: 'done' });
});

test('a failed tick neither prevents nor stops the consumers', async () => {
  let ticks = 0;
  const handler = () => vi.waitUntil(() => ticks > 1, { timeout: conditionTimeout });
  const consumer = defineConsumer({ queue: 'beside', handler: async () => void (await handler()) });
  for (const spared of [1, 0]) {
    ticks = 0;
    const connect = refusing((text) => isTick(text) && ++ticks > spared);
    const id = await there.tock.enqueue('beside', 1);
    await alarmed(connect, [consumer]).ring();
    expect((await there.tock.task(id))?.state).toBe('done');
  }
});

test('a consumer that cannot claim does not delay other due tasks', async () => {
  const consumer = defineConsumer({ queue: 'refused', handler: () => {} });
  const connect = refusing((text) => text.includes('tock.claim('), '22000');
  const { ring, rings } = alarmed(connect, [consumer]);
  for (let n = 0; n < 7; n++) await ring();
  await there.tock.enqueue('soon', 1, { delay_seconds: 200 });
  await ring();
  expect(rings()).toBeGreaterThan(100_000);
  expect(rings()).toBeLessThan(201_000);
});

test('an alarm that has used all its statements is followed by another one at once', async () => {
  await there.tock.enqueueMany('statements', payloadTasks(20));
  let left = 18;
  const few = there.watched((text) => {
    // The cycle must not call next_wake_at() when no statements are left.
    if (text.includes('next_wake_at') || left-- <= 0) throw new Error('too many');
  }, left);
  const consumer = defineConsumer({ queue: 'statements', handler: () => {} });
  const { ring, rings } = alarmed(few, [consumer]);
  await ring();
  expect(rings()).toBeLessThan(50);
});

test('after a kill during its work the alarm fires again', async () => {
  const [begun, over] = [deferred(), deferred()];
  const handler = () => {
    begun.open();
    return over.opened;
  };
  const consumer = defineConsumer({ queue: 'killed', handler });
  await there.tock.enqueue('killed', 1);
  const { ring, rings } = alarmed(there.connect, [consumer]);
  const rung = ring();
  await begun.opened;
  expect(rings()).toBe(60_000);
  over.open();
  await rung;
});
