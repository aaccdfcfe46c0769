import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, freshDatabase } from '../../../database.ts';
import { claim, enqueue, refusal, value } from '../../verbs.ts';

let db: Database;
let client: pg.Client;

beforeAll(async () => {
  db = await freshDatabase();
  client = await db.connect();
});

afterAll(() => db.drop());

const bad: [name: string, option: object, field: string][] = [
  ['a negative delay', { delay_seconds: -1 }, 'delay_seconds'],
  ['a delay that is no number', { delay_seconds: '5' }, 'delay_seconds'],
  ['a delay beyond ten years', { delay_seconds: 315360001 }, 'delay_seconds'],
  ['a delay and an instant', { delay_seconds: 1, run_at: '2030-01-01T00:00:00Z' }, 'delay_seconds'],
  ['an instant without a zone', { run_at: '2030-01-01T00:00:00' }, 'run_at'],
  ['an instant that is no day', { run_at: '2030-02-30T00:00:00Z' }, 'run_at'],
  ['an instant with a zone that is none', { run_at: '2030-01-01T00:00:00+99:99' }, 'run_at'],
  ['a number for an instant', { run_at: 1893456000 }, 'run_at'],
  ['priority 10', { priority: 10 }, 'priority'],
  ['priority -1', { priority: -1 }, 'priority'],
  ['half a priority', { priority: 0.5 }, 'priority'],
  ['an empty tenant', { tenant: '' }, 'tenant'],
  ['a long tenant', { tenant: 'x'.repeat(201) }, 'tenant'],
  ['no attempts', { max_attempts: 0 }, 'max_attempts'],
  ['1001 attempts', { max_attempts: 1001 }, 'max_attempts'],
  ['an option that is none', { prioritty: 1 }, 'prioritty'],
];

describe('a task is refused with the name of the field for', () => {
  test.each(bad)('%s', async (_, option, field) => {
    const refused = await refusal(
      enqueue(client, 'bad', [{ payload: 1 }, { payload: 2, ...option }]),
    );
    expect(refused.code).toBe('TK422');
    expect(refused.detail).toBe(`tasks[1].${field}`);
    expect(refused.message).not.toBe('');
  });
});

test('a refused call creates no task and no queue', async () => {
  await refusal(enqueue(client, 'none', [{ payload: 1 }, { priority: 77 }]));
  expect(await claim(client, 'none', { limit: 10 })).toEqual([]);
  expect(await value(client, "select count(*)::int from tock.queues where name = 'none'")).toBe(0);
  expect(await value(client, 'select count(*)::int from tock.runs')).toBe(0);
});

test('an argument that is not an array of tasks is refused', async () => {
  expect(await refusal(enqueue(client, 'bad', { payload: 1 }))).toMatchObject({
    code: 'TK422',
    detail: 'tasks',
  });
  expect(await refusal(enqueue(client, 'bad', [1]))).toMatchObject({
    code: 'TK422',
    detail: 'tasks[0]',
  });
});

test("a payload above the queue's limit is refused, one at the limit accepted", async () => {
  await client.query(`select tock.put_queue('small', '{"max_payload_bytes": 1024}')`);
  const at = { payload: 'x'.repeat(1022) };
  const above = { payload: 'x'.repeat(1023) };
  expect(await enqueue(client, 'small', [at])).toHaveLength(1);
  expect(await refusal(enqueue(client, 'small', [at, at, above]))).toMatchObject({
    code: 'TK422',
    detail: 'tasks[2].payload',
  });
});

test.each(['', '-dash', 'a b', 'x'.repeat(101), 'q/1', '*'])(
  '%j is not a queue name',
  async (name) => {
    expect(await refusal(enqueue(client, name, [{}]))).toMatchObject({
      code: 'TK422',
      detail: 'queue',
    });
    expect(await refusal(enqueue(client, name, []))).toMatchObject({
      code: 'TK422',
      detail: 'queue',
    });
  },
);

test('a call of more than 100,000 tasks is refused', async () => {
  const many = Array.from({ length: 100_001 }, () => ({}));
  expect(await refusal(enqueue(client, 'bad', many))).toMatchObject({
    code: 'TK422',
    detail: 'tasks',
  });
});
