import { describe, expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { enqueue, numberedTasks, refusal, rows, value } from '../../verbs.ts';

databasePerFile();

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
  await put('mail', { max_attempts: 4 });
  expect(await put('mail', {})).toMatchObject({ lease_seconds: 30, paused: true, max_attempts: 4 });
});

test('each setting of queue_settings() is stored, from its least value to its greatest', async () => {
  type Setting = { name: string; kind: string; low: number; high: number; words: string[] };
  const settings = await rows<Setting>(client, 'select * from tock.queue_settings()');
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
  test.each([{ lease_seconds: 0 }, { max_attempts: 1001 }, { backoff_factor: 0.5 }])(
    '%j',
    async (policy) => {
      expect((await refusal(put('bad', policy))).code).toMatch(/^(TK422|23514|22003)$/);
      expect(await value(client, "select count(*)::int from tock.queues where name = 'bad'")).toBe(
        0,
      );
    },
  );
});

test('the counts of a queue include the time since which its oldest task is ready', async () => {
  await enqueue(client, 'oldest', numberedTasks(2));
  const created = `select min(r.created_at) from tock.runs r join tock.streams s on s.number = r.stream
    where s.queue = 'oldest'`;
  const first = await value(client, created);
  await enqueue(client, 'oldest', numberedTasks(2));
  const stats = "select oldest_ready_at, ready from tock.queue_stats('oldest')";
  expect(await rows(client, stats)).toEqual([{ oldest_ready_at: first, ready: '4' }]);
});

test('queue_stats counts all queues by default, and returns no row for an unknown one', async () => {
  const all = await rows<{ queue: string }>(client, 'select queue from tock.queue_stats()');
  expect(all.map((row) => row.queue)).toEqual(expect.arrayContaining(['mail', 'oldest']));
  expect(all.map((row) => row.queue)).not.toContain('*');
  expect(await rows(client, "select * from tock.queue_stats('unknown')")).toEqual([]);
});
