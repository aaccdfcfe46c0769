import { expect, test } from 'vitest';
import { client, databasePerFile } from '../../test_database.ts';
import { claim, enqueue, refusal, value } from '../../verbs.ts';

databasePerFile();

const instant = '2030-01-01T00:00:00Z';
const bad: [name: string, option: object, field: string][] = [
  ['a negative delay', { delay_seconds: -1 }, 'delay_seconds'],
  ['a delay that is no number', { delay_seconds: '5' }, 'delay_seconds'],
  ['a delay beyond ten years', { delay_seconds: 315360001 }, 'delay_seconds'],
  ['a delay and an instant', { delay_seconds: 1, run_at: instant }, 'delay_seconds'],
  ['an instant without a zone', { run_at: '2030-01-01T00:00:00' }, 'run_at'],
  ['an instant that is no day', { run_at: '2030-02-30T00:00:00Z' }, 'run_at'],
  ['an instant with a zone that is none', { run_at: '2030-01-01T00:00:00+99:99' }, 'run_at'],
  ['priority 10', { priority: 10 }, 'priority'],
  ['half a priority', { priority: 0.5 }, 'priority'],
  ['an empty tenant', { tenant: '' }, 'tenant'],
  ['a long tenant', { tenant: 'x'.repeat(201) }, 'tenant'],
  ['1001 attempts', { max_attempts: 1001 }, 'max_attempts'],
  ['an expiry that is no instant', { expires_at: 'tomorrow' }, 'expires_at'],
  ['a negative expiry', { expires_in_seconds: -1 }, 'expires_in_seconds'],
  ['two expiries', { expires_in_seconds: 1, expires_at: instant }, 'expires_in_seconds'],
  ['no time', { timeout_seconds: 0 }, 'timeout_seconds'],
  ['half a second', { timeout_seconds: 1.5 }, 'timeout_seconds'],
  ['a number for a key', { concurrency_key: 5 }, 'concurrency_key'],
  ['a long key', { concurrency_key: 'x'.repeat(201) }, 'concurrency_key'],
  ['an option that is none', { prioritty: 1 }, 'prioritty'],
];

test.each(bad)('a task is refused with the name of the field for %s', async (_, option, field) => {
  const refused = await refusal(
    enqueue(client, 'bad', [{ payload: 1 }, { payload: 2, ...option }]),
  );
  expect(refused).toMatchObject({ code: 'TK422', detail: `tasks[1].${field}` });
  expect(refused.message).not.toBe('');
});

test('a refused call creates no task and no queue', async () => {
  await refusal(enqueue(client, 'none', [{ payload: 1 }, { priority: 77 }]));
  expect(await claim(client, 'none', { limit: 10 })).toEqual([]);
  expect(await value(client, "select count(*)::int from tock.queues where name = 'none'")).toBe(0);
  expect(await value(client, 'select count(*)::int from tock.runs')).toBe(0);
});

test.each([
  ['a task outside of an array', { payload: 1 }, 'tasks'],
  ['what is no task', [1], 'tasks[0]'],
  ['more than 100,000 tasks', Array(100_001).fill({}), 'tasks'],
])('%s is refused', async (_, tasks, detail) => {
  expect(await refusal(enqueue(client, 'bad', tasks))).toMatchObject({ code: 'TK422', detail });
});

test("a payload above the queue's limit is refused, one at the limit accepted", async () => {
  await client.query(`select tock.put_queue('small', '{"max_payload_bytes": 1024}')`);
  const at = { payload: 'x'.repeat(1022) };
  const above = { payload: 'x'.repeat(1023) };
  // A single task to a queue in use is appended by a function of its own.
  for (let call = 0; call < 2; call++) expect(await enqueue(client, 'small', [at])).toHaveLength(1);
  for (const tasks of [[above], [at, at, above]]) {
    const detail = `tasks[${tasks.length - 1}].payload`;
    const refused = await refusal(enqueue(client, 'small', tasks));
    expect(refused).toMatchObject({ code: 'TK422', detail });
  }
});

test.each(['', '-dash', 'a b', 'x'.repeat(101), 'q/1', '*'])(
  '%j is not a queue name',
  async (name) => {
    for (const tasks of [[{}], []]) {
      const refused = await refusal(enqueue(client, name, tasks));
      expect(refused).toMatchObject({ code: 'TK422', detail: 'queue' });
    }
  },
);
