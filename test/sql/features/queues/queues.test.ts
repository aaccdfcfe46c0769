import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import {
  claim,
  complete,
  enqueue,
  expire,
  fail,
  numberedTasks,
  promote,
  reap,
  refusal,
  release,
  rows,
  value,
} from '../../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const put = async (queue: string, policy: unknown) =>
  (await rows(client, 'select * from tock.put_queue($1, $2)', [queue, JSON.stringify(policy)]))[0];

test('a queue keeps the options given and the defaults for the others', async () => {
  expect(await put('mail', { lease_seconds: 30, paused: true })).toMatchObject({
    name: 'mail',
    lease_seconds: 30,
    paused: true,
    max_attempts: 10,
    backoff_jitter: 0.2,
  });
  expect(await put('mail', { max_attempts: 4 })).toMatchObject({
    lease_seconds: 30,
    max_attempts: 4,
  });
  expect(await put('mail', {})).toMatchObject({ paused: true, max_attempts: 4 });
});

test('each setting of queue_settings() is stored, from its least value to its greatest', async () => {
  const settings = await rows<{
    name: string;
    kind: string;
    low: number;
    high: number;
    words: string[];
  }>(client, 'select * from tock.queue_settings()');
  const push = { url: 'https://a.example/' };
  const policy = (least: boolean) =>
    Object.fromEntries(
      settings.map(({ name, kind, low, high, words }) => {
        if (kind === 'push') return [name, least ? null : push];
        if (kind === 'flag') return [name, !least];
        if (kind === 'word') return [name, least ? words[0] : words.at(-1)];
        return [name, least ? low : high];
      }),
    );
  expect(settings.length).toBeGreaterThan(20);
  for (const least of [true, false]) {
    expect(await put('settings', policy(least))).toMatchObject(policy(least));
  }
});

describe('a policy is refused with the name of the field for', () => {
  test.each([
    ['an unknown option', { lease: 5 }, 'lease'],
    ['a text for a number', { lease_seconds: '5' }, 'lease_seconds'],
    ['a number for a boolean', { paused: 1 }, 'paused'],
    ['half an attempt', { max_attempts: 1.5 }, 'max_attempts'],
    ['a policy that is none', [], 'policy'],
    ['a huge number', { lease_seconds: 1e300 }, 'lease_seconds'],
  ])('%s', async (_, policy, field) => {
    expect(await refusal(put('bad', policy))).toMatchObject({ code: 'TK422', detail: field });
  });

  // A check constraint of the table refuses these with 23514, which the HTTP API answers as 422.
  test.each([
    { lease_seconds: 0 },
    { max_attempts: 1001 },
    { lanes: 65 },
    { max_payload_bytes: 5_000_000 },
    { backoff_factor: 0.5 },
    { backoff_jitter: 2 },
  ])('%j', async (policy) => {
    expect((await refusal(put('bad', policy))).code).toMatch(/^(TK422|23514|22003)$/);
    expect(await value(client, "select count(*)::int from tock.queues where name = 'bad'")).toBe(0);
  });
});

test("the counts of queues agree with a model of their tasks' states", async () => {
  type State = 'ready' | 'running' | 'waiting' | 'dead' | 'done';
  const model = new Map<string, { queue: string; state: State }>();
  let seed = 20261121;
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return Math.floor((seed / 2147483648) * below);
  };
  const queues = ['model-a', 'model-b', 'model-c'];
  const set = (ids: string[], queue: string, state: State) => {
    for (const id of ids) model.set(id, { queue, state });
  };
  await client.query(`select tock.put_queue('model-b', '{"max_attempts": 2, "max_lost": 2}')`);
  for (let step = 0; step < 250; step++) {
    const queue = queues[random(3)] as string;
    const count = 1 + random(8);
    if (random(3) === 0) {
      const waits = random(4) === 0;
      const options = {
        tenant: `t${random(5)}`,
        priority: random(3),
        ...(waits && { delay_seconds: 9999 }),
      };
      set(
        await enqueue(client, queue, numberedTasks(count, 0, options)),
        queue,
        waits ? 'waiting' : 'ready',
      );
      continue;
    }
    const runs = await claim(client, queue, { limit: count });
    const ids = runs.map((run) => run.id);
    const [first] = runs;
    set(ids, queue, 'running');
    if (!first) continue;
    const some = ids.slice(0, 1 + random(ids.length));
    const end = random(6);
    if (end === 0) {
      await complete(client, first.lease);
      set(ids, queue, 'done');
    } else if (end === 1) {
      await complete(
        client,
        first.lease,
        some.map((id) => ({ id })),
      );
      set(some, queue, 'done');
    } else if (end === 2) {
      await fail(
        client,
        first.lease,
        some.map((id) => ({ id, fatal: true })),
      );
      set(some, queue, 'dead');
    } else if (end === 3) {
      await fail(
        client,
        first.lease,
        some.map((id) => ({ id, retry_in_seconds: 9999 })),
      );
      const last = new Set(
        runs.filter((run) => run.attempt >= run.max_attempts).map((run) => run.id),
      );
      for (const id of some) {
        const [now] = await rows<{ state: State }>(client, 'select state from tock.task($1)', [id]);
        if (!last.has(id)) expect(now?.state).toBe('waiting');
        set([id], queue, now?.state as State);
      }
    } else if (end === 4) {
      await release(client, first.lease, some);
      set(some, queue, 'ready');
    } else {
      await expire(client, first.lease);
      await reap(client);
      for (const id of ids) {
        const [now] = await rows<{ state: State }>(client, 'select state from tock.task($1)', [id]);
        expect(['ready', 'dead']).toContain(now?.state);
        set([id], queue, now?.state as State);
      }
    }
  }
  const counted = (queue: string, state: State) =>
    String(
      [...model.values()].filter((task) => task.queue === queue && task.state === state).length,
    );
  for (const queue of queues) {
    const [stats] = await rows(client, 'select * from tock.queue_stats($1)', [queue]);
    expect(stats).toMatchObject({
      queue,
      ready: counted(queue, 'ready'),
      running: counted(queue, 'running'),
      waiting: counted(queue, 'waiting'),
      dead: counted(queue, 'dead'),
    });
  }
  for (const [id, { state }] of model) {
    const [now] = await rows<{ state: State }>(client, 'select state from tock.task($1)', [id]);
    expect(now?.state).toBe(state);
  }
});

test('the counts of a queue include the time since which its oldest task is ready', async () => {
  await enqueue(client, 'oldest', numberedTasks(2));
  const [created] = await rows<{ at: Date }>(
    client,
    `select min(r.created_at) as at from tock.runs r join tock.streams s on s.number = r.stream
     where s.queue = 'oldest'`,
  );
  await enqueue(client, 'oldest', numberedTasks(2));
  const [stats] = await rows<{ oldest_ready_at: Date }>(
    client,
    "select oldest_ready_at from tock.queue_stats('oldest')",
  );
  expect(stats?.oldest_ready_at).toEqual(created?.at);
});

test('queue_stats counts all queues by default, and returns no row for an unknown one', async () => {
  const all = await rows<{ queue: string }>(client, 'select queue from tock.queue_stats()');
  expect(all.map((row) => row.queue)).toEqual(
    expect.arrayContaining(['mail', 'model-a', 'oldest']),
  );
  expect(all.map((row) => row.queue)).not.toContain('*');
  expect(await rows(client, "select * from tock.queue_stats('unknown')")).toEqual([]);
  expect(await promote(client)).toBe(0);
});
